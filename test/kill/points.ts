import type { AppName } from '../support/app-process.ts';
import type { Prelude } from './preludes.ts';

/** A named point of the pipeline, and one way in which a process comes to it. */
export interface Point {
  /** As it stands in the sources; a test holds the two together. */
  readonly name: string;
  /** The name of its row: messages come to some points in more than one way. */
  readonly title: string;
  readonly app: AppName;
  readonly prelude: Prelude;
  /**
   * Every message comes to it, or every one that is lost, and what is committed there moves a message, its request, its evidence or its
   * money: run with every action and provider, and with every state of the servers.
   */
  readonly core: boolean;
}

type Side = 'before commit' | 'after commit';
const SIDES: readonly Side[] = ['before commit', 'after commit'];

const around = (name: string, app: AppName, prelude: Prelude = 'nothing'): Point[] =>
  SIDES.map((side) => ({ name: `${name}: ${side}`, title: `${name}: ${side}`, app, prelude, core: true }));

const one = (name: string, app: AppName): Point => ({ name, title: name, app, prelude: 'nothing', core: true });

/** The commit of `name`, to which a process comes in the way that the title says. */
const aside = (name: string, app: AppName, prelude: Prelude, title: string = name): Point[] =>
  SIDES.map((side) => ({ name: `${name}: ${side}`, title: `${title}: ${side}`, app, prelude, core: false }));

const single = (name: string, app: AppName, prelude: Prelude): Point => ({
  name,
  title: name,
  app,
  prelude,
  core: false,
});

/**
 * Points of the backfill app, which is no part of this matrix: it sends nothing, and no message comes to it but by an order of a person.
 * A process is killed at each of them, and at the commits of receipts that it shares, by `test/backfill/killed.test.ts`.
 */
export const BACKFILL_POINTS: readonly string[] = [
  'backfill day taken: before commit',
  'backfill day taken: after commit',
  'backfill: day fetched',
  'backfill day stored: before commit',
  'backfill day stored: after commit',
  'backfill day applied: before commit',
  'backfill day applied: after commit',
];

/** In the order in which a message comes to them; then what only looks, and what only some messages come to. */
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
  ...around('receipts stored', 'reconcile'),
  ...around('receipts applied', 'reconcile'),
  ...around('absence', 'reconcile', 'a request is never made'),
  ...around('fallback', 'reconcile'),

  ...aside('look', 'reconcile', 'nothing'),
  ...aside('search', 'reconcile', 'a reply is lost'),
  ...aside('match', 'reconcile', 'a reply is lost'),
  ...aside('claim', 'claim', 'it is cancelled while it waits', 'claim of what is cancelled'),
  ...aside('cancel', 'reconcile', 'a newer code is there'),
  ...aside('give back', 'claim', 'a claimer is told to end'),
  ...aside('expiry', 'reconcile', 'nobody claims'),
  ...aside('zone rules', 'reconcile', 'a zone gets other rules'),
  ...aside('claim', 'claim', 'the breaker is open', 'claim of a probe'),
  ...aside('mark', 'submit', 'the breaker is open', 'mark of a probe'),
  ...aside('outcome', 'submit', 'the breaker is open', 'outcome of a probe'),
  ...aside('probe put off', 'submit', 'the account is empty'),
  ...aside('outcome', 'submit', 'we are too fast', 'outcome of a 429'),
  ...aside('schedule change taken', 'reconcile', 'a held request is cancelled', 'cancellation at the provider taken'),
  ...aside('schedule change ended', 'reconcile', 'a held request is cancelled', 'cancellation at the provider ended'),
  ...aside('schedule change taken', 'reconcile', 'a held request is moved', 'move at the provider taken'),
  ...aside('schedule change ended', 'reconcile', 'a held request is moved', 'move at the provider ended'),
  single('push: before it is stored', 'reconcile', 'receipts are pushed'),
  single('push: before its answer', 'reconcile', 'receipts are pushed'),
  ...aside('no receipt', 'reconcile', 'nothing is reported'),
  ...aside('overdue', 'reconcile', 'delivery is late'),
  single('boot: registered', 'submit', 'a worker starts again'),
];
