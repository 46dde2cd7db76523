export const SMSGATEWAYCENTER = 'smsgatewaycenter';

/** Facts of providers that are needed where no adapter is: of a command that only writes down what is to be done. */
const PROVIDERS: ReadonlyMap<string, { readonly dayReport: boolean }> = new Map([
  [SMSGATEWAYCENTER, { dayReport: true }],
]);

/** Whether there is an adapter for a provider that can read its report of a whole day. */
export function hasDayReport(provider: string): boolean {
  return PROVIDERS.get(provider)?.dayReport === true;
}
