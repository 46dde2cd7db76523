import { describe, expect, test } from 'vitest';
import { type MessageTemplate, messageTemplate, renderTemplate } from '../../src/domain/template.ts';

const otp: MessageTemplate = {
  id: '1207161234567890123',
  version: '1',
  channel: 'sms',
  messageClass: 'otp',
  body: '{{code}} is your code for {{shop}}.',
  variables: [
    { name: 'code', pattern: '[0-9]{4,8}', secret: true },
    { name: 'shop', maxLength: 5 },
  ],
  senderId: 'SHOPIN',
  dltEntityId: null,
  dltTemplateId: null,
};

describe('rendering', () => {
  test('fills every placeholder and keeps secrets out of what is stored', () => {
    expect(renderTemplate(otp, { code: '123456', shop: 'Acme' }, 'otp')).toEqual({
      ok: true,
      body: '123456 is your code for Acme.',
      storedParams: { shop: 'Acme' },
    });
  });

  test('a value that looks like a placeholder or a replacement pattern stays text', () => {
    const template = { ...otp, body: '{{a}}{{b}}', variables: [{ name: 'a' }, { name: 'b' }] };
    expect(renderTemplate(template, { a: '{{b}}', b: '$&$1' }, 'otp')).toMatchObject({ ok: true, body: '{{b}}$&$1' });
  });

  test('inherited properties are no parameters', () => {
    const template = { ...otp, body: '{{constructor}}', variables: [{ name: 'constructor' }] };
    expect(renderTemplate(template, {}, 'otp')).toEqual({
      ok: false,
      problems: [{ field: 'constructor', reason: 'missing_variable' }],
    });
  });
});

describe('refusals', () => {
  test.each([
    ['missing', { code: '123456' }, 'otp', 'shop', 'missing_variable'],
    ['unknown', { code: '123456', shop: 'Acme', more: 'x' }, 'otp', 'more', 'unknown_variable'],
    ['too long', { code: '123456', shop: 'Acme-1' }, 'otp', 'shop', 'too_long'],
    ['pattern', { code: 'abc', shop: 'Acme' }, 'otp', 'code', 'pattern_mismatch'],
    ['pattern is anchored', { code: '1234 call', shop: 'Acme' }, 'otp', 'code', 'pattern_mismatch'],
    ['a newline after it does not pass', { code: '1234\n', shop: 'Acme' }, 'otp', 'code', 'pattern_mismatch'],
    ['class', { code: '123456', shop: 'Acme' }, 'transactional', 'template', 'template_class'],
    ['secret outside OTP', { code: '123456', shop: 'Acme' }, 'transactional', 'code', 'secret_outside_otp'],
  ] as const)('%s', (_name, params, messageClass, field, reason) => {
    const rendered = renderTemplate(otp, params, messageClass);
    expect(rendered.ok ? [] : rendered.problems).toContainEqual({ field, reason });
  });

  test('an alternation in a pattern is anchored as a whole', () => {
    const template = { ...otp, body: '{{a}}', variables: [{ name: 'a', pattern: 'x|y' }] };
    expect(renderTemplate(template, { a: 'xz' }, 'otp').ok).toBe(false);
  });

  test('length counts characters, not units', () => {
    expect(renderTemplate(otp, { code: '1234', shop: '😀😀😀😀😀' }, 'otp').ok).toBe(true);
    expect(renderTemplate(otp, { code: '1234', shop: '😀😀😀😀😀😀' }, 'otp').ok).toBe(false);
  });
});

describe('the template itself', () => {
  test.each([
    ['a good one', {}, true],
    ['an undeclared placeholder', { body: '{{code}} {{shop}} {{other}}' }, false],
    ['braces with spaces', { body: '{{ code }} {{shop}}' }, false],
    ['an open brace pair', { body: '{{code}} {{shop' }, false],
    ['single braces are text', { body: '{code} {{code}} {{shop}}' }, true],
    ['a pattern that is none', { variables: [{ name: 'code', pattern: '(' }, { name: 'shop' }] }, false],
    ['a name declared twice', { variables: [{ name: 'code' }, { name: 'code' }, { name: 'shop' }] }, false],
    ['a step that follows', { fallback: [{ template: { id: 'call' }, channel: 'voice' }] }, true],
    [
      'a step that follows in any case',
      { fallback: [{ template: { id: 'a' }, afterSeconds: 9, mayDuplicate: true }] },
      true,
    ],
    [
      'a step that follows in any case, without consent',
      { fallback: [{ template: { id: 'a' }, afterSeconds: 9 }] },
      false,
    ],
    ['a step without a template', { fallback: [{ channel: 'voice' }] }, false],
    ['a step to nobody', { fallback: [{ template: { id: 'a' }, channel: 'telegram' }] }, false],
    ['six steps', { fallback: Array.from({ length: 6 }, () => ({ template: { id: 'a' } })) }, false],
    ['an unknown key in a variable', { variables: [{ name: 'code', secert: true }, { name: 'shop' }] }, false],
  ])('%s', (_name, change, good) => {
    expect(messageTemplate.safeParse({ ...otp, ...change }).success).toBe(good);
  });
});
