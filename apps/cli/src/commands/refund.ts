import { type AdjustmentAnswer, durably, messageStory, recordAdjustment } from '@sendledger/core/ledger';
import type { Command } from 'commander';
import { withDatabase } from '../database.ts';
import { CliFailure } from '../failure.ts';
import { findOne, MESSAGE_HELP } from '../find-message.ts';
import { matching, someText } from '../options.ts';
import { data } from '../output/write.ts';
import { readSettings } from '../settings.ts';

const amount = matching(/^\d{1,8}(\.\d{1,4})?$/, 'A decimal above zero with at most four places, e.g. 0.12.');
const currency = matching(/^[A-Z]{3}$/, 'An ISO 4217 code, e.g. INR.');

export function addRefundCommand(program: Command): void {
  program
    .command('refund')
    .description('book what a provider gave back for a message; the charge itself stays')
    .argument('<message>', MESSAGE_HELP)
    .requiredOption('--amount <decimal>', 'what came back', amount)
    .requiredOption('--evidence <text>', 'where the provider says so: a credit note, a line of its history', someText)
    .requiredOption('--by <name>', 'who books it', someText)
    .option('--currency <code>', "default: that of the message's cost", currency)
    .addHelpText(
      'after',
      `
The same evidence again is the same refund and books nothing. Refunds never give back more than the message cost.

Example:
  sendledger refund 1042 --amount 0.12 --evidence "credit note 2026-03-17" --by asha`,
    )
    .action(async (wanted: string, options: { amount: string; evidence: string; by: string; currency?: string }) => {
      const { id, answer } = await withDatabase(readSettings().databaseUrl, async (pool) => {
        const message = await findOne(pool, wanted);
        const story = await messageStory(pool, message);
        const of = options.currency ?? story?.message.cost_currency;
        const booking = { ...options, message, currency: typeof of === 'string' ? of : '', kind: 'refund' as const };
        return { id: message.id, answer: await durably(pool, (sql) => recordAdjustment(sql, booking)) };
      });
      data(refundLine(id, options.amount, answer));
    });
}

function refundLine(id: string, wanted: string, answer: AdjustmentAnswer): string {
  switch (answer.answer) {
    case 'booked':
      return `refund of ${wanted} ${answer.currency} booked for message ${id}; ${answer.left} ${answer.currency} of its cost are left`;
    case 'already_booked':
      return `booked before for message ${id}, with this evidence: ${answer.amount} ${answer.currency}`;
    case 'not_found':
      throw new CliFailure(`Message ${id} is not there any more.`);
    case 'no_cost':
      throw new CliFailure(`Message ${id} has no cost, so nothing can be given back. See: sendledger show ${id}`);
    case 'other_currency':
      throw new CliFailure(`Message ${id} was charged in ${answer.currency}. Give the amount in that currency.`);
    case 'more_than_left':
      throw new CliFailure(
        `Of the cost of message ${id} only ${answer.left} ${answer.currency} are left. See: sendledger show ${id}`,
      );
  }
}
