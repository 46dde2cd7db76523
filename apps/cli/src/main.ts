import { Command } from 'commander';
import { addBackfillCommands } from './commands/backfill.ts';
import { addCancelCommand } from './commands/cancel.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addEnqueueCommand } from './commands/enqueue.ts';
import { addMigrateCommand } from './commands/migrate.ts';
import { addRateCommands } from './commands/rate.ts';
import { addRefundCommand } from './commands/refund.ts';
import { addReplayCommand } from './commands/replay.ts';
import { addReviewCommands } from './commands/review.ts';
import { addRouteCommands } from './commands/route.ts';
import { addScheduleCommands } from './commands/schedule.ts';
import { addShowCommand } from './commands/show.ts';
import { addStatusCommand } from './commands/status.ts';
import { addTemplateCommands } from './commands/template.ts';
import { addTenantCommands } from './commands/tenant.ts';
import { describeFailure } from './failure.ts';
import { talk } from './output/write.ts';

const program = new Command('sendledger')
  .description('A ledger for messages that cost money.')
  .showHelpAfterError('(--help shows what is possible)')
  .addHelpText(
    'after',
    `
DATABASE_URL says which ledger; REDIS_URL where wake-ups go; SENDLEDGER_ENVIRONMENT which environment this is.

A first message:
  sendledger migrate
  sendledger route add main --provider smsgatewaycenter --sender SHOPIN
  sendledger rate add --route main --price 0.1225 --currency INR
  sendledger enqueue orders.csv --tenant shop --class transactional --event-type order.shipped
  sendledger status --watch`,
  );

addMigrateCommand(program);
addDoctorCommand(program);
addTenantCommands(program);
addTemplateCommands(program);
addRouteCommands(program);
addRateCommands(program);
addEnqueueCommand(program);
addStatusCommand(program);
addShowCommand(program);
addCancelCommand(program);
addScheduleCommands(program);
addReviewCommands(program);
addReplayCommand(program);
addRefundCommand(program);
addBackfillCommands(program);

// `sendledger status | head`: who reads no more has what they wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  talk(describeFailure(error));
  process.exitCode = 1;
}
