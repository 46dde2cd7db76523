-- What the operator's window asks of the ledger: each look-up by an index, and counts that one process of the fleet keeps.

-- The closed messages of a request. Those that can still move are in outbound_message_submission; a closed one enters this index once,
-- with the version that closes it. See docs/decisions/0028.
create index outbound_message_closed on sendledger.outbound_message (submission_id)
  where state in ('delivered', 'failed', 'rejected', 'expired') and submission_id is not null;

-- A fresh UUID that bears the id of its row (RFC 9562, version 8: 48 bits of the id, the rest random): a row is found by it through its
-- primary key, without an index that each of the four versions of a message would enter at a random place.
create function sendledger.attempt_key_of(p_id bigint, p_random uuid) returns uuid
language sql immutable parallel safe as $key$
  select encode(set_bit(set_bit(overlay(uuid_send(p_random) placing substring(int8send(p_id) from 3) from 1 for 6), 54, 0), 55, 1), 'hex')::uuid
$key$;
revoke execute on function sendledger.attempt_key_of(bigint, uuid) from public;
grant execute on function sendledger.attempt_key_of(bigint, uuid) to sendledger_import;

-- The lines that make a key; the rest of these functions stands where it stood. A key by default (a row written by hand) stays random.
do $functions$
declare
  made_with constant text := 'sendledger.attempt_key_of(';
  change record;
  was text;
  is_now text;
begin
  for change in select * from (values
    ('sendledger.enqueue_set(json, integer[])', 'g.business_key, g.attempt_key, g.event_type', 'g.business_key, ' || made_with || 'g.mid, g.attempt_key), g.event_type'),
    ('sendledger.enqueue_set(json, integer[])', 'at_text, n.attempt_key::text', 'at_text, ' || made_with || 'n.mid, n.attempt_key)::text'),
    ('sendledger.replay(bigint, timestamptz, text, text, boolean, boolean, timestamptz, text, text)', 'id, created_at, tenant_id, business_key, event_type', 'id, created_at, attempt_key, tenant_id, business_key, event_type'),
    ('sendledger.replay(bigint, timestamptz, text, text, boolean, boolean, timestamptz, text, text)', 'new_id, at, m.tenant_id', 'new_id, at, ' || made_with || 'new_id, gen_random_uuid()), m.tenant_id'),
    ('sendledger.fall_back(bigint, timestamptz)', 'id, created_at, tenant_id, business_key, event_type', 'id, created_at, attempt_key, tenant_id, business_key, event_type'),
    ('sendledger.fall_back(bigint, timestamptz)', 'new_id, at, m.tenant_id', 'new_id, at, ' || made_with || 'new_id, gen_random_uuid()), m.tenant_id')
  ) as c (fn, old, new) loop
    was := pg_get_functiondef(change.fn::regprocedure);
    is_now := replace(was, change.old, change.new);
    if length(is_now) <> length(was) + length(change.new) - length(change.old) then
      raise exception '% does not say "%" once', change.fn, change.old;
    end if;
    execute is_now;
  end loop;
end
$functions$;

-- The reviews of a message and of a request: seldom written, and read with every story.
create index review_item_of_message on sendledger.review_item (message_id) where message_id is not null;
create index review_item_of_submission on sendledger.review_item (submission_id) where submission_id is not null;
create index review_item_messages on sendledger.review_item using gin ((evidence -> 'messages') jsonb_path_ops);

-- Counts of the whole ledger cost seconds, so they are made beside the pages and by one process: whoever holds this row until its
-- time is over. The others read what it wrote, and never count themselves.
create table sendledger.census (
  only_row boolean primary key default true check (only_row),
  holder bigint,
  held_until timestamptz,
  counted_at timestamptz,
  took_ms integer,
  figures jsonb,
  check ((holder is null) = (held_until is null)),
  check ((counted_at is null) = (figures is null) and (counted_at is null) = (took_ms is null))
);
insert into sendledger.census default values;

-- It reads everything; these are the rows that it writes by itself.
grant select, update (holder, held_until, counted_at, took_ms, figures) on sendledger.census to sendledger_ops;
grant select on sendledger.census to sendledger_cli;
grant insert on sendledger.worker to sendledger_ops;
grant update (last_seen_at, ended_at) on sendledger.worker to sendledger_ops;
grant select on sendledger.provider_message, sendledger.absence_watch to sendledger_ops;
