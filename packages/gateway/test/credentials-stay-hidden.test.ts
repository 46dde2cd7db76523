import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createGotTransport, createSmsGatewayCenter, SYSTEM_CLOCKS } from '../src/index.ts';
import { closedPort } from './support/provider-server.ts';
import { API_KEY, BODY, fullBudget, PASSWORD, requestTo, USERID } from './support/sending.ts';

function printed(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, getters: true });
}

function expectHidden(text: string): void {
  for (const secret of [USERID, PASSWORD, API_KEY, BODY]) expect(text).not.toContain(secret);
}

describe('credentials', () => {
  it('do not show in the adapter, nor in what it answers', async () => {
    const baseUrl = `http://127.0.0.1:${await closedPort()}`;
    const adapter = createSmsGatewayCenter({ baseUrl, userid: USERID, password: PASSWORD, apiKey: API_KEY });
    expectHidden(printed(adapter));
    expectHidden(printed(await adapter.submit(requestTo(['919999999999']), fullBudget())));
    expectHidden(printed(await adapter.reportByTransaction('77', 1)));
    expectHidden(printed(await adapter.account()));
    expectHidden(printed(await adapter.heldSchedules()));
    expectHidden(printed(await adapter.cancelSchedule('77')));
    expectHidden(printed(await adapter.moveSchedule('77', new Date(), null)));
    expectHidden(printed(adapter));
    adapter.close();
  });

  it('do not show in the facts of a failed request', async () => {
    const transport = createGotTransport();
    const facts = await transport.post({
      url: new URL(`http://127.0.0.1:${await closedPort()}`),
      form: new URLSearchParams({ password: PASSWORD, msg: BODY }),
      headers: { apikey: API_KEY },
      budget: null,
    });
    expect(facts.kind).toBe('failure');
    expectHidden(printed(facts));
    expectHidden(printed(transport));
    transport.close();
  });

  it('do not show in the error about a configuration, which names every fault', () => {
    const broken = {
      baseUrl: `https://${USERID}:${PASSWORD}@provider.invalid`,
      userid: '',
      apiKey: `${API_KEY} \n`,
      zone: 'Mars/Olympus',
      maxRecipients: 5_000,
      extraCodes: { '200': 'temporary' as const },
      extraStatusWords: { ' ': 'failed' as const },
      extraScheduleWords: { '': 'sent' as const },
      reportPageLimit: 0,
      timeouts: { lookup: 3_000, connect: 3_000, secureConnect: 3_000, response: 0, request: 50_000 },
    };
    let error: unknown;
    try {
      createSmsGatewayCenter(broken);
    } catch (thrown) {
      error = thrown;
    }
    expectHidden(printed(error));
    expect(error).toMatchObject({ code: 'SENDLEDGER_CONFIG' });
    for (const name of [
      'baseUrl',
      'userid',
      'apiKey',
      'zone',
      'maxRecipients',
      'extraCodes',
      'extraStatusWords',
      'extraScheduleWords',
      'reportPageLimit',
      'timeouts.response',
    ]) {
      expect(printed(error)).toContain(name);
    }
  });
});

describe('a configuration', () => {
  const usable = { baseUrl: 'https://provider.invalid/', userid: USERID, password: PASSWORD };

  it('without password and key is refused', () => {
    expect(() => createSmsGatewayCenter({ ...usable, password: undefined })).toThrow('needs password or apiKey');
  });

  it('whose connection time-outs outlast the send budget is refused', () => {
    expect(() => createSmsGatewayCenter({ ...usable, sendBudgetMs: 4_000 })).toThrow('below sendBudgetMs');
  });

  it('gets the defaults that the API is known by', () => {
    const { provider, capabilities } = createSmsGatewayCenter(usable);
    expect(provider).toBe('smsgatewaycenter');
    expect(capabilities).toEqual({
      maxRecipients: 500,
      idFor: 'request',
      clientRef: 'none',
      lookup: { byTxn: true, byRecipientWindow: true, byDay: true, destructive: false },
      push: { perMessageUrl: false, signed: false, trusted: false },
      schedule: { supported: true, cancel: true, precision: 'second', param: 'scheduleTime' },
      validity: { supported: false, param: null },
      partialRefusal: true,
      encodingRule: 'ascii',
    });
  });

  it('runs on the real clocks by default', () => {
    expect(Math.abs(SYSTEM_CLOCKS.wallMs() - Date.now())).toBeLessThan(60_000);
  });
});
