import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import type { Log } from './log.ts';
import { Loop, type Round } from './loop.ts';

export interface ClassLoops {
  readonly all: readonly Loop[];
  /** Nudges the loop of a lane's class; `route.class` as wake-ups name it. */
  nudge(lane: string): void;
}

/** One loop per message class: a class never waits for the round of another. */
export function classLoops(
  name: string,
  pollMs: number,
  log: Log,
  round: (messageClass: MessageClass) => Promise<Round>,
): ClassLoops {
  const loops = new Map<string, Loop>(
    MESSAGE_CLASSES.map((c) => [c, new Loop(`${name} ${c}`, pollMs, log, () => round(c))]),
  );
  const nudgeAll = () => {
    for (const loop of loops.values()) loop.nudge();
  };
  return {
    all: [...loops.values()],
    nudge: (lane) => {
      const loop = loops.get(lane.slice(lane.lastIndexOf('.') + 1));
      if (loop === undefined) nudgeAll();
      else loop.nudge();
    },
  };
}
