import { describe, expect, it } from 'vitest';
import { classLoops } from '../src/class-loops.ts';
import { createLog } from '../src/log.ts';
import { Loop, type Round } from '../src/loop.ts';

const log = createLog('test', 'silent', 'test');
const FOR_EVER_MS = 1_000_000;

/** A round that ends when told, and says when it began. */
function steps() {
  let began: () => void = () => undefined;
  let finish: (round: Round) => void = () => undefined;
  let rounds = 0;
  let next = new Promise<void>((resolve) => {
    began = resolve;
  });
  return {
    work: () => {
      rounds++;
      began();
      return new Promise<Round>((resolve) => {
        finish = resolve;
      });
    },
    get rounds() {
      return rounds;
    },
    begun: async () => {
      await next;
      next = new Promise<void>((resolve) => {
        began = resolve;
      });
    },
    end: (round: Round) => finish(round),
  };
}

describe('a loop', () => {
  it('goes on at once while there is more, and waits for a nudge when there is none', async () => {
    const step = steps();
    const loop = new Loop('test', FOR_EVER_MS, log, step.work);
    loop.start();
    await step.begun();
    step.end('more');
    await step.begun();
    step.end('none');
    loop.nudge();
    await step.begun();
    expect(step.rounds).toBe(3);
    const stopped = loop.stop();
    step.end('none');
    await stopped;
  });

  it('does not lose a nudge that comes during a round', async () => {
    const step = steps();
    const loop = new Loop('test', FOR_EVER_MS, log, step.work);
    loop.start();
    await step.begun();
    loop.nudge();
    loop.nudge();
    step.end('none');
    await step.begun();
    expect(step.rounds).toBe(2);
    const stopped = loop.stop();
    step.end('none');
    await stopped;
  });

  it('survives a round that throws', async () => {
    let rounds = 0;
    const loop = new Loop('test', 1, log, async () => {
      rounds++;
      if (rounds === 1) throw new Error('the database is away');
      return 'none';
    });
    loop.start();
    while (rounds < 3) await new Promise((resolve) => setImmediate(resolve));
    await loop.stop();
  });

  it('ends when told, while it waits', async () => {
    const loop = new Loop('test', FOR_EVER_MS, log, async () => 'none');
    loop.start();
    await loop.stop();
  });
});

describe('loops by class', () => {
  it('a wake-up nudges the loop of its lane, and no other', async () => {
    const rounds: string[] = [];
    const loops = classLoops('test', FOR_EVER_MS, log, async (messageClass) => {
      rounds.push(messageClass);
      return 'none';
    });
    for (const loop of loops.all) loop.start();
    await new Promise((resolve) => setImmediate(resolve));
    expect(rounds.sort()).toEqual(['otp', 'promotional', 'transactional']);
    loops.nudge('17.otp');
    await new Promise((resolve) => setImmediate(resolve));
    expect(rounds.filter((c) => c === 'otp')).toHaveLength(2);
    expect(rounds).toHaveLength(4);
    await Promise.all(loops.all.map((loop) => loop.stop()));
  });
});
