import type { AppName } from '../support/app-process.ts';

/**
 * What has to go wrong first, so that a process comes to the point at all.
 *
 * - `nobody marks`: the submit workers stand still, and a claim's lease runs out.
 * - `a mark is lost`: a submit worker stands still behind its mark, and the lease of its request runs out.
 * - `a reply is lost`: a submit worker is killed when its request is with the provider.
 * - `a request is never made`: a submit worker is killed behind its mark.
 */
export type Prelude = 'nothing' | 'nobody marks' | 'a mark is lost' | 'a reply is lost' | 'a request is never made';

/** A named point of the pipeline. The names stand in the sources; a test holds the two together. */
export interface Point {
  readonly name: string;
  readonly app: AppName;
  readonly prelude: Prelude;
}

const around = (name: string, app: AppName, prelude: Prelude = 'nothing'): Point[] =>
  (['before commit', 'after commit'] as const).map((side) => ({ name: `${name}: ${side}`, app, prelude }));

const one = (name: string, app: AppName): Point => ({ name, app, prelude: 'nothing' });

/** In the order in which a message comes to them. */
export const POINTS: readonly Point[] = [
  ...around('claim', 'claim'),
  one('wake-up: sent', 'claim'),
  ...around('mark', 'submit'),
  one('request: before the check of its budget', 'submit'),
  one('request: before its first byte', 'submit'),
  one('request: after its last byte', 'submit'),
  one('reply: before it is read', 'submit'),
  one('reply: after it is read', 'submit'),
  ...around('outcome', 'submit'),
  ...around('release', 'reconcile', 'nobody marks'),
  ...around('lost lease', 'reconcile', 'a mark is lost'),
  ...around('look', 'reconcile'),
  ...around('receipts stored', 'reconcile'),
  ...around('receipts applied', 'reconcile'),
  ...around('search', 'reconcile', 'a reply is lost'),
  ...around('match', 'reconcile', 'a reply is lost'),
  ...around('absence', 'reconcile', 'a request is never made'),
  ...around('fallback', 'reconcile'),
];
