import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactReply, redactText } from '../src/normalise/redact-reply.ts';

const NONE = { credentials: [], texts: [] };

describe('what is taken out of a reply', () => {
  it('is every text of a message, escaped or not, wherever it stands', () => {
    const body = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 }).filter((text) => text.trim().length >= 8);
    const escaping = fc.constantFrom<(text: string) => string>(
      (text) => text,
      encodeURIComponent,
      (text) => JSON.stringify(text).slice(1, -1),
      (text) => new URLSearchParams({ v: text }).toString().slice(2),
    );
    fc.assert(
      fc.property(body, escaping, fc.string(), fc.string(), (text, escaped, before, after) => {
        const out = redactText(`${before}${escaped(text)}${after}`, { credentials: [], texts: [text] });
        expect(out).not.toContain(escaped(text));
      }),
    );
  });

  it('is a piece of a text that was cut off', () => {
    const secrets = { credentials: [], texts: ['The parcel waits at the counter'] };
    expect(redactText('<p>The parcel wai', secrets)).toBe('<p>[redacted]');
  });

  it('is a code on its own', () => {
    expect(redactText('{"x":"4821","n":148210}', { credentials: [], texts: ['Code 4821'] })).toBe(
      '{"x":"[redacted]","n":148210}',
    );
  });

  it.each([
    ['{"text":"a \\" b","code":"200"}', '{"text":"[redacted]","code":"200"}'],
    ['{"Message Text" : "abc', '{"Message Text" : "[redacted]"'],
    ['{"sms":["one","two"],"status":"success"}', '{"sms":"[redacted]","status":"success"}'],
    ['{"otp":123456}', '{"otp":"[redacted]"}'],
    ['{"response":{"msg":"success","code":"200"}}', '{"response":{"msg":"success","code":"200"}}'],
    ['userid=someone&password=x&mobile=919999999999', 'userid=[redacted]&password=[redacted]&mobile=919999999999'],
    ['<msg>hello there</msg><code>200</code>', '<msg>[redacted]</msg><code>200</code>'],
  ])('is a private field by its name: %s', (text, redacted) => {
    expect(redactText(text, NONE)).toBe(redacted);
  });

  it('is taken out before the cut, so that no half of it is left', () => {
    const text = `${'x'.repeat(30)}"password":"abcdefgh"`;
    expect(Buffer.from(redactReply(Buffer.from(text), NONE, 45)).toString()).toBe(`${'x'.repeat(30)}"password":"[re`);
  });

  it('is nothing else', () => {
    const reply =
      '{"status":"success","mobile":"919999999999","transactionId":"6305583318236810379","statusCode":"200"}';
    const secrets = { credentials: ['abc', 'success1'], texts: ['Hello from the shop at the corner'] };
    expect(redactText(reply, secrets)).toBe(reply);
  });
});
