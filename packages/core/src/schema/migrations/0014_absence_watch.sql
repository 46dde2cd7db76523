-- Messages that were closed because nothing of them was found, or because a person said so. A record that comes later shows that to
-- be wrong, so they are looked for a few more times; the money and a successor depend on it.
create table sendledger.absence_watch (
  message_id bigint primary key,
  message_created_at timestamptz(3) not null,
  looks integer not null default 0,
  next_look_at timestamptz not null,
  until timestamptz not null
);
create index absence_watch_due on sendledger.absence_watch (next_look_at);

grant select, insert, update, delete on sendledger.absence_watch to sendledger_reconcile;
grant select, insert on sendledger.absence_watch to sendledger_backfill, sendledger_cli, sendledger_ops;

-- Failures of requests from before the breaker closed are the stragglers of an outage that is over.
alter table sendledger.route add column breaker_closed_at timestamptz;
grant update (breaker_closed_at) on sendledger.route to sendledger_submit, sendledger_reconcile, sendledger_backfill;
