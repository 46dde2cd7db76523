import { describe, expect, test } from 'vitest';
import {
  ACTIONS,
  allCells,
  type Cell,
  coverage,
  POSTGRES,
  PROVIDERS,
  REDIS,
  tenthOf,
  WHOLE_PRODUCT,
  WORLDS,
} from './cells.ts';
import { dice, pick, shuffled } from './dice.ts';
import { POINTS } from './points.ts';

const cells = allCells();
const CORE = POINTS.filter((point) => point.core);
const ofCore = cells.filter((cell) => cell.point.core && cell.postgres !== 'restored');
const kinds = (of: readonly Cell[], kind: (cell: Cell) => string) => new Set(of.map(kind)).size;

describe('the cells of the kill matrix', () => {
  test('are the whole product of points, actions and providers where nothing else happens', () => {
    const plain = ofCore.filter((cell) => cell.redis === 'up' && cell.postgres === 'up');
    const product = CORE.length * ACTIONS.length * PROVIDERS.length;
    expect(plain.length).toBeGreaterThanOrEqual(product);
    expect(kinds(plain, (cell) => `${cell.point.title} ${cell.action} ${cell.provider}`)).toBe(product);
  });

  test('have every point of every message with every state of Redis and of Postgres, and every state of the three', () => {
    expect(kinds(ofCore, (cell) => `${cell.point.title} ${cell.redis}`)).toBe(CORE.length * REDIS.length);
    expect(kinds(ofCore, (cell) => `${cell.point.title} ${cell.postgres}`)).toBe(CORE.length * (POSTGRES.length - 1));
    expect(coverage(cells)).toEqual({ points: POINTS.length, worlds: WORLDS });
  });

  test('have the points of some messages with both actions', () => {
    const aside = POINTS.filter((point) => !point.core);
    const of = cells.filter((cell) => !cell.point.core);
    expect(kinds(of, (cell) => `${cell.point.title} ${cell.action}`)).toBe(aside.length * ACTIONS.length);
    expect(kinds(of, (cell) => cell.postgres)).toBe(POSTGRES.length - 1);
  });

  test('have a process that wakes up in a restored database with a mark, a reply and an outcome, from every provider that lets it', () => {
    const awake = cells.filter((cell) => cell.postgres === 'restored' && cell.action === 'stop');
    const providers = (name: string) =>
      kinds(
        awake.filter((cell) => cell.point.name === name),
        (cell) => cell.provider,
      );
    expect(providers('mark: after commit')).toBe(PROVIDERS.length);
    expect(providers('outcome: before commit')).toBe(PROVIDERS.length);
    expect(providers('reply: before it is read')).toBe(2);
    expect(providers('reply: after it is read')).toBe(2);
  });

  test('have names of their own, and are far from the whole product', () => {
    expect(kinds(cells, (cell) => cell.id)).toBe(cells.length);
    expect(cells.length).toBeLessThan(WHOLE_PRODUCT / 4);
  });

  test('fit twenty minutes in two fleets', () => {
    expect(cells.reduce((sum, cell) => sum + cell.seconds, 0) / 2).toBeLessThan(20 * 60);
  });

  test('have a point to which nobody may come for a reason that is said beforehand, and only then', () => {
    const missed = cells.filter((cell) => cell.mustNotCome !== null);
    expect(missed.length).toBeGreaterThan(0);
    for (const cell of missed) expect(cell.id).toMatch(/^match-.*\.refuses$/);
  });
});

describe('the tenth', () => {
  test('is the same each time, and has every commit of every message and every state of each column', () => {
    const tenth = tenthOf(cells);
    expect(tenthOf(allCells()).map((cell) => cell.id)).toEqual(tenth.map((cell) => cell.id));
    const commit = (name: string) => name.replace(/: (before|after) commit$/, '');
    const named = new Set(tenth.filter((cell) => cell.point.core).map((cell) => commit(cell.point.title)));
    expect(named).toEqual(new Set(CORE.map((point) => commit(point.title))));
    expect(kinds(tenth, (cell) => cell.action)).toBe(ACTIONS.length);
    expect(kinds(tenth, (cell) => cell.redis)).toBe(REDIS.length);
    expect(kinds(tenth, (cell) => cell.postgres)).toBe(POSTGRES.length);
    expect(kinds(tenth, (cell) => cell.provider)).toBe(PROVIDERS.length);
    expect(tenth.length / cells.length).toBeGreaterThan(0.09);
    expect(tenth.length).toBeLessThanOrEqual(Math.ceil(cells.length / 10));
  });
});

describe('the dice', () => {
  test('give the same for the same seed and words, whatever was thrown before', () => {
    expect(dice(7, 'a', 1)).toBe(dice(7, 'a', 1));
    expect(dice(7, 'a', 1)).not.toBe(dice(8, 'a', 1));
    expect(pick(2, 7, 'b')).toBe(pick(2, 7, 'b'));
    const ids = cells.map((cell) => cell.id);
    expect(shuffled(ids, 7, (id) => id)).toEqual(shuffled(ids.toReversed(), 7, (id) => id));
    expect(shuffled(ids, 7, (id) => id)).not.toEqual(shuffled(ids, 8, (id) => id));
  });
});
