export * from './census.ts';
export * from './lanes-now.ts';
export * from './latencies.ts';
export * from './message-counts.ts';
export * from './open-reviews.ts';
export * from './overview.ts';
export * from './receipt-ages.ts';
