import { normaliseRecipient } from '../domain/recipient.ts';
import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

type Found = { id: string; created_at: Date };

/** Found by one look-up at most, the newest first. */
export const MOST_FOUND = 20;

/**
 * Our id ($2), a recipient, the provider's id of a message or of a request, or an attempt key ($3) that bears the id of its row ($4):
 * each by an index, whatever the size of the ledger. A request's messages are looked up request by request: joined, and with statistics
 * from before a burst, the index of open ones would look empty and be read whole.
 */
export const FIND_BY_INDEX = `select f.id, f.created_at from (
    select m.id, m.created_at from sendledger.outbound_message m where m.id = $2::bigint
    union
    select m.id, m.created_at from sendledger.outbound_message m where m.id = $4::bigint and m.attempt_key = $3::uuid
    union
    (select m.id, m.created_at from sendledger.outbound_message m where m.recipient = $1 order by m.created_at desc limit ${MOST_FOUND})
    union
    select p.message_id, p.message_created_at from sendledger.provider_message p
    where p.provider_message_id = $1 and p.account in (select r.provider || '/' || r.account from sendledger.route r)
    union
    (select m.id, m.created_at from sendledger.submission s cross join lateral (
       (select o.id, o.created_at from sendledger.outbound_message o where o.submission_id = s.id and o.submission_created_at = s.created_at
         and o.state in ('claimed', 'submitted', 'unknown') limit ${MOST_FOUND})
       union all
       (select o.id, o.created_at from sendledger.outbound_message o where o.submission_id = s.id and o.submission_created_at = s.created_at
         and o.state in ('delivered', 'failed', 'rejected', 'expired') limit ${MOST_FOUND})
     ) m where s.provider_txn_id = $1 limit ${MOST_FOUND})
  ) f order by f.created_at desc, f.id desc limit ${MOST_FOUND}`;

const LINK = `select m.id, m.created_at, m.replaces_id, m.replaces_created_at from sendledger.outbound_message m`;

/**
 * A business key or an event id, of whatever tenant: the indexes begin with the tenant, so each tenant is one step into them. A key
 * leads to its latest message, and that to those it replaces.
 */
export const FIND_BY_KEY = `with recursive tenants (id) as (
    (select k.tenant_id from sendledger.message_key k order by k.tenant_id limit 1)
    union all
    select (select k.tenant_id from sendledger.message_key k where k.tenant_id > t.id order by k.tenant_id limit 1)
    from tenants t where t.id is not null
  ), keys as (
    select k.* from tenants t cross join lateral (
      select k.message_id, k.message_created_at from sendledger.message_key k
      where k.tenant_id = t.id and k.business_key = $1 limit 1) k
    union
    select k.* from tenants t cross join lateral (
      select k.message_id, k.message_created_at from sendledger.message_key k
      where k.tenant_id = t.id and k.event_id = $1 order by k.message_id desc limit ${MOST_FOUND}) k
  ), found as (
    select l.*, 0 as step from keys k cross join lateral (
      ${LINK} where m.id = k.message_id and m.created_at = k.message_created_at limit 1) l
    union all
    select l.*, f.step + 1 from found f cross join lateral (
      ${LINK} where m.id = f.replaces_id and m.created_at = f.replaces_created_at limit 1) l
    where f.step < ${MOST_FOUND}
  )
  select distinct f.id, f.created_at from found f order by f.created_at desc, f.id desc limit ${MOST_FOUND}`;

/** What no index has: attempt keys from before they bore an id, and what was imported without its keys. Reads the months. */
const FIND_BY_READING = `select m.id, m.created_at from sendledger.outbound_message m
  where m.attempt_key = $2::uuid or m.business_key = $1 or m.event_id = $1 or m.provider_txn_id = $1
  order by m.created_at desc, m.id desc limit ${MOST_FOUND}`;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * Finds messages by whatever a person has in hand: our id, a recipient in international or national form, a provider's transaction or
 * message id, an attempt key, a business key or an event id. At most {@link MOST_FOUND}, the newest first.
 *
 * @param reading whether the months may be read where no index has it: on a large ledger that takes minutes.
 */
export async function findMessages(
  sql: Sql,
  wanted: string,
  options: { readonly reading: boolean } = { reading: true },
): Promise<RowRef[]> {
  const text = wanted.trim();
  // What no column can hold finds nothing, and is no error.
  if (text === '' || text.includes('\u0000') || text.length > 300) return [];
  const forms = await formsOf(sql, text);
  for (const form of forms) {
    const found = await byIndex(sql, form);
    if (found.length > 0) return found;
  }
  if (!options.reading) return [];
  for (const form of forms.slice(0, 2)) {
    const found = await rowsOf<Found>(sql, FIND_BY_READING, [form, UUID.test(form) ? form : null]);
    if (found.length > 0) return found.map(ref);
  }
  return [];
}

async function byIndex(sql: Sql, form: string): Promise<RowRef[]> {
  const id = /^[0-9]{1,18}$/.test(form) ? form : null;
  const uuid = UUID.test(form) ? form : null;
  const rows = [
    ...(await rowsOf<Found>(sql, FIND_BY_INDEX, [form, id, uuid, uuid === null ? null : idIn(uuid)])),
    ...(await rowsOf<Found>(sql, FIND_BY_KEY, [form])),
  ];
  const once = new Map(rows.map((row) => [row.id, ref(row)]));
  return [...once.values()].toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime()).slice(0, MOST_FOUND);
}

const ref = (row: Found): RowRef => ({ id: row.id, createdAt: row.created_at });

/** The id in a UUID of version 8 as we make them; null for others. */
function idIn(uuid: string): string | null {
  return uuid[14] === '8' ? BigInt(`0x${uuid.slice(0, 8)}${uuid.slice(9, 13)}`).toString() : null;
}

/** The ledger keeps numbers as digits and keys in lower case; a person pastes them as they come, and a number as it is dialled at home. */
async function formsOf(sql: Sql, text: string): Promise<string[]> {
  const forms = new Set([text]);
  if (UUID.test(text) || /^[0-9A-Fa-f]{64}$/.test(text)) forms.add(text.toLowerCase());
  if (/^[+0-9 ().-]{6,30}$/.test(text)) {
    const regions = await rowsOf<{ region: string }>(
      sql,
      'select distinct t.default_region as region from sendledger.tenant t where t.default_region is not null order by 1 limit 20',
    );
    for (const defaultRegion of [undefined, ...regions.map((row) => row.region)]) {
      const recipient = normaliseRecipient(text, defaultRegion === undefined ? {} : { defaultRegion });
      if (recipient.ok) forms.add(recipient.number);
    }
  }
  return [...forms];
}
