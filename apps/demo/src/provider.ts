// What ledger and simulator must agree on, so that what is billed here equals what is billed there.
export const PRICE_PER_SEGMENT = '0.1225';
export const SIMULATED_CURRENCY = 'INR';
export const SENDER = 'SHOPIN';

/** With --faults: the share of requests each happens to. Codes and pages that nobody can interpret end `unknown`. */
export const FAULT_SHARES = [
  'refuse-before-accept=0.01',
  'accept-then-hang=0.01',
  'accept-then-reset=0.01',
  'http-500=0.01',
  'html-under-200=0.01',
  'invalidMobile=0.01',
].join(',');
