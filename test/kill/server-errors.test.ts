import { describe, expect, it } from 'vitest';
import { errorsIn } from './server-errors.ts';

describe('the log of the server', () => {
  it('names each error with what the server says of it, and no other line', () => {
    expect(
      errorsIn(
        [
          '00000 LOG:  checkpoint complete',
          '40P01 ERROR:  deadlock detected',
          '40P01 DETAIL:  Process 71 waits for ShareLock on transaction 907; blocked by process 72.',
          '\tProcess 71: update a',
          '\tset b = $1',
          '40P01 STATEMENT:  update a',
          '\tset b = $1',
          '57P01 FATAL:  terminating connection due to administrator command',
          '08006 ERROR:  connection lost',
          '08006 STATEMENT:  select 1',
          '23514 ERROR:  new row violates check constraint "c"',
          '23514 DETAIL:  Failing row contains (1).',
          '',
        ].join('\n'),
      ),
    ).toEqual([
      '40P01 deadlock detected Process … waits for ShareLock on transaction …; blocked by process …. Process …: update a set b = $1 update a set b = $1',
      '23514 new row violates check constraint "c" Failing row contains (1).',
    ]);
  });
});
