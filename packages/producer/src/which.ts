import { businessKey, type MessageFault, nameFault, normaliseRecipient } from '@sendledger/core';
import type { CancelTarget } from '@sendledger/core/ledger';
import type { DirectoryCache } from './directory.ts';
import { MessageRefused } from './message-refused.ts';
import type { SqlExecutor } from './sql-executor.ts';

/** One message, as `enqueue` answered it. */
export interface ByMessage {
  readonly messageId: string;
}

/** The message of one event to one recipient: the parts of its business key, as it was enqueued. */
export interface ByKey {
  readonly event: { readonly type: string; readonly id: string };
  readonly to: string;
  readonly key?: {
    readonly template?: string | undefined;
    readonly version?: string | undefined;
    readonly step?: string | undefined;
    readonly bucket?: string | undefined;
  };
}

/** All messages of an event, to whomever. */
export interface ByEvent {
  readonly event: { readonly type: string; readonly id: string };
}

/** All messages of one of our campaigns. `coversUntil`: what is made later is not covered; default: everything is. */
export interface ByCampaign {
  readonly campaign: string;
  readonly coversUntil?: Date | undefined;
}

/** Everything of the tenant, or of one class of it. `coversUntil`: what is made later is not covered; default: the answer's time. */
export interface ByTenant {
  readonly everything: true | 'otp' | 'transactional' | 'promotional';
  readonly coversUntil?: Date | undefined;
}

export type Which = ByMessage | ByKey | ByEvent | ByCampaign | ByTenant;

export interface WhichSettings {
  readonly tenant: string | undefined;
  readonly defaultRegion: string | undefined;
}

/** The tenant that is meant. @throws MessageRefused where none is named, or one that cannot be stored */
export function tenantOf(named: string | undefined, settings: WhichSettings): string {
  const tenant = named ?? settings.tenant;
  if (tenant === undefined) throw refusal('tenant', 'missing');
  checked('tenant', tenant);
  return tenant;
}

/**
 * What names the messages, as the ledger knows it: the recipient in the form of the ledger, read by the tenant's region as
 * `enqueue` reads it, and the parts as their key.
 *
 * @throws MessageRefused for a recipient that cannot be read, and for a name that cannot be stored
 */
export async function targetOf(
  sql: SqlExecutor,
  which: Which,
  tenantId: string,
  settings: WhichSettings,
  directory: DirectoryCache,
): Promise<CancelTarget> {
  if ('messageId' in which) return { kind: 'message', messageId: which.messageId };
  if ('campaign' in which) {
    checked('campaign', which.campaign);
    return { kind: 'campaign', campaignId: which.campaign, coversUntil: which.coversUntil ?? null };
  }
  if ('everything' in which)
    return {
      kind: 'tenant',
      messageClass: which.everything === true ? null : which.everything,
      coversUntil: which.coversUntil ?? null,
    };
  const { event } = which;
  checked('event.type', event.type);
  checked('event.id', event.id);
  if (!('to' in which)) return { kind: 'event', eventType: event.type, eventId: event.id };
  const known = await directory.load(sql, [{ tenant: tenantId }], undefined);
  const recipient = normaliseRecipient(which.to, {
    defaultRegion: known.defaultRegion(tenantId) ?? settings.defaultRegion,
  });
  if (!recipient.ok) throw refusal('to', recipient.reason);
  const parts = { tenantId, eventType: event.type, eventId: event.id, recipient: recipient.number, ...which.key };
  return { kind: 'key', businessKey: businessKey(parts) };
}

/** Whether it can be one of ours; anything else is simply not there. */
export function isMessageId(text: string): boolean {
  return /^[0-9]{1,18}$/.test(text);
}

function checked(field: string, name: string): void {
  const reason = nameFault(name);
  if (reason !== undefined) throw refusal(field, reason);
}

function refusal(field: string, reason: MessageFault): MessageRefused {
  return new MessageRefused([{ index: 0, to: null, field, reason, message: `${field}: ${reason}` }]);
}
