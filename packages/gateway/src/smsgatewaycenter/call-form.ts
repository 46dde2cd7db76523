import type { Settings } from './options.ts';

/**
 * The form that every call starts from. `output=json` is not optional: the default is plain text, and one forgotten
 * parameter would turn a billed success into an answer nobody can read. `userid` goes along even with a key, which
 * alone is refused. Values are encoded once, by the form.
 */
export function callForm(settings: Settings): URLSearchParams {
  const form = new URLSearchParams({ output: 'json', userid: settings.userid });
  if (settings.password !== undefined) form.set('password', settings.password);
  return form;
}

export function callHeaders(settings: Settings): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'user-agent': 'sendledger',
    ...(settings.apiKey === undefined ? {} : { apikey: settings.apiKey }),
  };
}

export function credentialsOf(settings: Settings): readonly string[] {
  return [settings.password, settings.apiKey, settings.userid].filter((value) => value !== undefined);
}
