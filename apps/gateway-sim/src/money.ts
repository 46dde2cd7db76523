/** An amount in ten-thousandths of the currency, as an exact integer: "1.25" is 12500n. */
export type Amount = bigint;

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,4}))?$/;

/** Reads a decimal such as "0.1250". @throws RangeError for signs, exponents and more than four decimals. */
export function parseAmount(text: string): Amount {
  const match = DECIMAL.exec(text);
  if (match === null) throw new RangeError(`not an amount with at most four decimals: ${JSON.stringify(text)}`);
  return BigInt(match[1] ?? '0') * 10_000n + BigInt((match[2] ?? '').padEnd(4, '0'));
}

/** Writes an amount with exactly four decimals. */
export function formatAmount(amount: Amount): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(5, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}
