import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PickedRow, planSubmissions } from '../../src/ledger/index.ts';

/** Few contents and few numbers, so that they meet. */
const picked = fc
  .array(
    fc.record({
      recipient: fc.integer({ min: 1, max: 6 }).map(String),
      content: fc.constantFrom('a', 'b', 'c', null),
      notAfter: fc.integer({ min: 0, max: 1000 }).map((ms) => new Date(ms)),
    }),
    { maxLength: 60 },
  )
  .map((rows) => rows.map((row, i): PickedRow => ({ ...row, id: String(i), createdAt: new Date(i) })));
const limits = fc.record({ maxBatch: fc.integer({ min: 1, max: 8 }), room: fc.integer({ min: 0, max: 70 }) });

const check = (property: (rows: PickedRow[], limits: { maxBatch: number; room: number }) => void) =>
  fc.assert(fc.property(picked, limits, property), { numRuns: 500 });

describe('planned submissions', () => {
  test('hold every row at most once', () =>
    check((rows, given) => {
      const ids = planSubmissions(rows, given).flatMap((s) => s.rows.map((row) => row.id));
      expect(new Set(ids).size).toBe(ids.length);
    }));

  test('hold every recipient at most once, and equal content only', () =>
    check((rows, given) => {
      for (const s of planSubmissions(rows, given)) {
        expect(new Set(s.rows.map((row) => row.recipient)).size).toBe(s.rows.length);
        expect(new Set(s.rows.map((row) => row.content)).size).toBe(1);
      }
    }));

  test('are no more than there is room for, none empty, none over the batch', () =>
    check((rows, given) => {
      const planned = planSubmissions(rows, given);
      expect(planned.length).toBeLessThanOrEqual(given.room);
      for (const s of planned) {
        expect(s.rows.length).toBeGreaterThanOrEqual(1);
        expect(s.rows.length).toBeLessThanOrEqual(given.maxBatch);
      }
    }));

  test('leave a row without content alone', () =>
    check((rows, given) => {
      for (const s of planSubmissions(rows, given)) if (s.rows[0]?.content === null) expect(s.rows).toHaveLength(1);
    }));

  test('keep the order of the rows, inside each and between them', () =>
    check((rows, given) => {
      const planned = planSubmissions(rows, given);
      for (const s of planned) {
        const ids = s.rows.map((row) => Number(row.id));
        expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      }
      const firsts = planned.map((s) => Number(s.rows[0]?.id));
      expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
    }));

  test('lose nothing where there is room for all', () =>
    check((rows, given) => {
      const planned = planSubmissions(rows, { ...given, room: rows.length });
      expect(planned.flatMap((s) => s.rows)).toHaveLength(rows.length);
    }));

  test('leave a row out only where no room and no place was left for it', () =>
    check((rows, given) => {
      const planned = planSubmissions(rows, given);
      const placed = new Set(planned.flatMap((s) => s.rows.map((row) => row.id)));
      if (placed.size < rows.length) expect(planned).toHaveLength(given.room);
    }));

  test('are worth sending until the earliest deadline of their rows', () =>
    check((rows, given) => {
      for (const s of planSubmissions(rows, given))
        expect(s.notAfter.getTime()).toBe(Math.min(...s.rows.map((row) => row.notAfter.getTime())));
    }));

  test('fill what is open before they open another', () => {
    const rows = Array.from({ length: 7 }, (_, i): PickedRow => {
      return { id: String(i), createdAt: new Date(i), recipient: String(i), content: 'a', notAfter: new Date(9) };
    });
    expect(planSubmissions(rows, { maxBatch: 3, room: 9 }).map((s) => s.rows.length)).toEqual([3, 3, 1]);
  });
});
