import { SendledgerError } from '@sendledger/core';
import { describe, expect, it } from 'vitest';
import { needCredential, readSettings, SMSGATEWAYCENTER_SETTINGS, WORKER_SETTINGS, whole } from '../src/config.ts';

const GOOD = { DATABASE_URL: 'postgres://u:p@h/d' };

function refusal(environment: Record<string, string>, shape = WORKER_SETTINGS): string {
  try {
    readSettings(shape, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(SendledgerError);
    return (error as Error).message;
  }
  throw new Error('was accepted');
}

describe('settings from the environment', () => {
  it('fill in what is not given; an empty variable is not given', () => {
    const settings = readSettings(WORKER_SETTINGS, { ...GOOD, REDIS_URL: '', SENDLEDGER_POLL_INTERVAL_MS: '' });
    expect(settings).toMatchObject({ SENDLEDGER_POLL_INTERVAL_MS: 1000, SENDLEDGER_ENVIRONMENT: 'development' });
    expect(settings.REDIS_URL).toBeUndefined();
  });

  it('name every fault at once, and show no value', () => {
    const line = refusal({
      DATABASE_URL: 'http://secret@x',
      REDIS_URL: 'localhost:6379',
      SENDLEDGER_POLL_INTERVAL_MS: '1e3',
      SENDLEDGER_HEALTH_PORT: '70000',
      SENDLEDGER_LOG_LEVEL: 'loud',
    });
    for (const name of [
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
      'REDIS_URL must be a URL',
      'SENDLEDGER_POLL_INTERVAL_MS must be a whole number',
      'SENDLEDGER_HEALTH_PORT must be at most 65535',
      'SENDLEDGER_LOG_LEVEL is not valid',
    ])
      expect(line).toContain(name);
    expect(line).not.toContain('secret');
  });

  it('say what is missing', () => {
    expect(refusal({})).toContain('DATABASE_URL must be set');
  });

  it.each(['-1', '1.5', ' 5', '0x10', '١'])('take %s for no whole number', (text) => {
    expect(
      refusal({ ...GOOD, N: text }, { ...WORKER_SETTINGS, N: whole(0, 10, 1) } as typeof WORKER_SETTINGS),
    ).toContain('N must be a whole number');
  });

  it('need one way into the provider', () => {
    const shape = { ...WORKER_SETTINGS, ...SMSGATEWAYCENTER_SETTINGS };
    const given = { ...GOOD, SMSGATEWAYCENTER_USERID: 'demo' };
    expect(() => readSettings(shape, given, needCredential)).toThrow('SMSGATEWAYCENTER_PASSWORD must be set, or');
    expect(() => readSettings(shape, { ...given, SMSGATEWAYCENTER_APIKEY: 'k' }, needCredential)).not.toThrow();
  });
});
