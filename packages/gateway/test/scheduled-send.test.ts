import { describe, expect, it } from 'vitest';
import type { SmsGatewayCenterOptions, SubmitRequest } from '../src/index.ts';
import { startProvider } from './support/provider-server.ts';
import { success } from './support/replies.ts';
import { adapterFor, fullBudget, requestTo, TXN } from './support/sending.ts';

/** The form of a send with these changes, or the reason for which there is none. */
async function sent(changes: Partial<SubmitRequest>, options: Partial<SmsGatewayCenterOptions> = {}) {
  const server = await startProvider((_, response) => response.end(success()));
  const adapter = adapterFor(server.url, {}, {}, options);
  const outcome = await adapter.submit(requestTo(['919999999999'], changes), fullBudget());
  return { form: Object.fromEntries(server.requests[0]?.form ?? []), outcome };
}

const NOON_IN_INDIA = new Date('2026-07-17T06:30:00Z');

describe('a send that the provider shall hold', () => {
  it('says until when, with a capital T and seconds, and is otherwise like any other', async () => {
    const { form, outcome } = await sent({ scheduleAt: NOON_IN_INDIA });
    const { scheduleTime, ...others } = form;
    expect(scheduleTime).toBe('2026-07-17 12:00:00');
    expect(others).toEqual((await sent({})).form);
    expect(outcome).toMatchObject({ kind: 'accepted', providerTxnId: TXN });
  });

  it.each([
    ['the adapter’s own, without another', null, undefined, '2026-07-17 12:00:00'],
    ['the one the adapter was given', null, 'America/New_York', '2026-07-17 02:30:00'],
    ['the route’s, before both', 'Europe/Berlin', 'America/New_York', '2026-07-17 08:30:00'],
  ])('says it in a zone: %s', async (_, scheduleZone, zone, text) => {
    const { form } = await sent({ scheduleAt: NOON_IN_INDIA, scheduleZone }, { zone });
    expect(form.scheduleTime).toBe(text);
  });

  it.each([
    ['Europe/Berlin', '2026-03-29T00:59:59.5Z', '2026-03-29 03:00:00'],
    ['Europe/Berlin', '2026-10-25T01:59:59.5Z', '2026-10-25 03:00:00'],
    ['America/New_York', '2026-03-08T06:59:59.5Z', '2026-03-08 03:00:00'],
    ['America/New_York', '2026-11-01T04:59:59Z', '2026-11-01 00:59:59'],
    ['Asia/Kolkata', '2026-07-17T06:29:59.001Z', '2026-07-17 12:00:00'],
  ])('never says less: in %s %s is %s', async (scheduleZone, at, text) => {
    expect((await sent({ scheduleAt: new Date(at), scheduleZone })).form.scheduleTime).toBe(text);
  });

  it('is not built where the text would mean two instants, and the reason says so', async () => {
    const { form, outcome } = await sent({
      scheduleAt: new Date('2026-11-01T05:30:00Z'),
      scheduleZone: 'America/New_York',
    });
    expect(form).toEqual({});
    expect(outcome).toMatchObject({ kind: 'refused', scope: 'permanent' });
    expect(outcome.reply.reason).toContain('clocks go back');
  });

  it('carries no expiry, for which the provider has no parameter', async () => {
    const { form } = await sent({ scheduleAt: NOON_IN_INDIA, validUntil: new Date('2026-07-17T07:30:00Z') });
    expect(form).toEqual((await sent({ scheduleAt: NOON_IN_INDIA })).form);
  });
});

describe('a send at once', () => {
  it('names no time, whatever zone is given', async () => {
    const { form } = await sent({ scheduleZone: 'Mars/Olympus' });
    expect(Object.keys(form).filter((name) => /schedule/i.test(name))).toEqual([]);
  });
});
