-- What the operator's window asks of the ledger: each look-up by an index, and counts that one process of the fleet keeps.

-- The closed messages of a request. Those that can still move are in outbound_message_submission; a closed one enters this index once,
-- with the version that closes it. See docs/decisions/0027.
create index outbound_message_closed on sendledger.outbound_message (submission_id)
  where state in ('delivered', 'failed', 'rejected', 'expired') and submission_id is not null;

-- A fresh UUID that bears the millisecond of its row (RFC 9562, version 7): so a row is found by it without an index of its own, which
-- each of the four versions of a message would enter at a random place. 74 bits are random.
create function sendledger.attempt_key_at(p_at timestamptz) returns uuid
language sql volatile parallel safe as $key$
  select encode(set_bit(set_bit(
    overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from p_at) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$key$;
revoke execute on function sendledger.attempt_key_at(timestamptz) from public;
grant execute on function sendledger.attempt_key_at(timestamptz) to sendledger_import;
-- What replays, follows or is imported takes the default; its created_at is that of its transaction.
alter table sendledger.outbound_message alter column attempt_key set default sendledger.attempt_key_at(date_trunc('milliseconds', now()));
do $default$
declare
  leaf regclass;
begin
  for leaf in select i.inhrelid::regclass from pg_inherits i where i.inhparent = 'sendledger.outbound_message'::regclass loop
    execute format('alter table %s alter column attempt_key set default sendledger.attempt_key_at(date_trunc(''milliseconds'', now()))', leaf);
  end loop;
end
$default$;
-- The one line of enqueue that makes a key. The rest of it stands in 0020 and stays as it is.
do $enqueue$
declare
  was constant text := pg_get_functiondef('sendledger.enqueue_set(json, integer[])'::regprocedure);
  is_now constant text := replace(was, 'then gen_random_uuid() end as attempt_key', 'then sendledger.attempt_key_at(at_now) end as attempt_key');
begin
  if is_now = was then
    raise exception 'enqueue_set makes no attempt key where it was expected';
  end if;
  execute is_now;
end
$enqueue$;

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
