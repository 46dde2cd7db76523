import { saysRoom } from '@sendledger/core';
import { durably, releaseClaimedBy } from '@sendledger/core/ledger';
import { classLoops, readSettings, runApp } from '@sendledger/worker';
import { claimRound } from './claim-lanes.ts';
import { LaneHints } from './lane-hints.ts';
import { CLAIM_SETTINGS, checkClaimSettings } from './settings.ts';

const read = () => readSettings(CLAIM_SETTINGS, process.env, checkClaimSettings);

await runApp('claim', read, (context) => {
  const settings = read();
  const hints = new LaneHints();
  const round = claimRound(
    context,
    { batch: settings.SENDLEDGER_CLAIM_BATCH, leaseMs: settings.SENDLEDGER_CLAIM_LEASE_MS },
    hints,
  );
  const loops = classLoops('claim', settings.SENDLEDGER_POLL_INTERVAL_MS, context.log, round);
  context.wakeUps.listen('claim', (lane) => {
    // Something new is there, or came back: looked for from the start.
    if (!saysRoom(lane)) hints.drop(lane);
    loops.nudge(lane);
  });
  return {
    loops: loops.all,
    // Claimed and not yet marked: anybody else may claim it at once, instead of when the lease is over.
    rest: async () => {
      const { rows } = await durably(context.pool, 'give back', (sql) =>
        releaseClaimedBy(sql, context.worker.id, 10_000),
      );
      if (rows > 0) context.log.info({ rows }, 'released');
    },
  };
});
