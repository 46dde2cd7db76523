/**
 * The number with country code, digits only; null when it cannot be one. Indian numbers may come as 10 digits, as 11
 * with a leading 0, or as 12 with a leading 91.
 */
export function canonicalMobile(written: string): string | null {
  const digits = written.trim().replace(/^\+/, '');
  if (/^[6-9]\d{9}$/.test(digits)) return `91${digits}`;
  if (/^0[6-9]\d{9}$/.test(digits)) return `91${digits.slice(1)}`;
  return /^[1-9]\d{7,14}$/.test(digits) ? digits : null;
}
