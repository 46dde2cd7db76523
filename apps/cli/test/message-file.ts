/** `count` lines of each format, every one good; line numbers follow from the position. */
export function ndjsonLines(count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    JSON.stringify({ recipient: numberOf(i), body: 'Your order is ready', event_id: `n-${i}` }),
  );
}

export function csvLines(count: number): string[] {
  return [
    'recipient,body,event_id',
    ...Array.from({ length: count }, (_, i) => `${numberOf(i)},Your order is ready,c-${i}`),
  ];
}

export function numberOf(i: number): string {
  return `+9198765${String(i).padStart(5, '0')}`;
}

export const DEFAULTS = ['--tenant', 'shop', '--class', 'transactional', '--event-type', 'order'] as const;
