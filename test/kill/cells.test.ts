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
const kinds = (of: readonly Cell[], kind: (cell: Cell) => string) => new Set(of.map(kind)).size;

describe('the cells of the kill matrix', () => {
  test('are the whole product of points, actions and providers where nothing else happens', () => {
    const plain = cells.filter((cell) => cell.redis === 'up' && cell.postgres === 'up');
    expect(plain.length).toBeGreaterThanOrEqual(POINTS.length * ACTIONS.length * PROVIDERS.length);
    expect(kinds(plain, (cell) => `${cell.point.name} ${cell.action} ${cell.provider}`)).toBe(
      POINTS.length * ACTIONS.length * PROVIDERS.length,
    );
  });

  test('have every point with every state of Redis and of Postgres, and every state of the three at least once', () => {
    expect(kinds(cells, (cell) => `${cell.point.name} ${cell.redis}`)).toBe(POINTS.length * REDIS.length);
    expect(kinds(cells, (cell) => `${cell.point.name} ${cell.postgres}`)).toBe(POINTS.length * POSTGRES.length);
    expect(coverage(cells)).toEqual({ points: POINTS.length, worlds: WORLDS });
  });

  test('have names of their own, and are far from the whole product', () => {
    expect(kinds(cells, (cell) => cell.id)).toBe(cells.length);
    expect(cells.length).toBeLessThan(WHOLE_PRODUCT / 4);
  });

  test('fit twenty minutes in two fleets', () => {
    expect(cells.reduce((sum, cell) => sum + cell.seconds, 0) / 2).toBeLessThan(20 * 60);
  });

  test('are not reached for a reason that is said beforehand, and only then', () => {
    const missed = cells.filter((cell) => cell.notReached !== null);
    expect(missed.length).toBeGreaterThan(0);
    for (const cell of missed) expect(cell.id).toMatch(/^match-.*\.refuses$/);
  });
});

describe('the tenth', () => {
  test('is the same each time, and has every point and every state of each column', () => {
    const tenth = tenthOf(cells);
    expect(tenthOf(allCells()).map((cell) => cell.id)).toEqual(tenth.map((cell) => cell.id));
    expect(tenth.map((cell) => cell.point.name)).toEqual(POINTS.map((point) => point.name));
    expect(kinds(tenth, (cell) => cell.action)).toBe(ACTIONS.length);
    expect(kinds(tenth, (cell) => cell.redis)).toBe(REDIS.length);
    expect(kinds(tenth, (cell) => cell.postgres)).toBe(POSTGRES.length);
    expect(kinds(tenth, (cell) => cell.provider)).toBe(PROVIDERS.length);
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
