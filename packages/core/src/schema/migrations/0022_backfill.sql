-- Long work that is done in parts, and how far it got: a run and its checkpoints. Of a backfill a checkpoint is one day of one account of
-- a provider, since that is what one call reads. Nothing here says "up to here": a run is over when it has no open checkpoint.

alter table sendledger.route
  -- How often whole reports of the account are read at most; null: no limit. The provider publishes none.
  add column reads_per_minute numeric(12,4) default 6 check (reads_per_minute > 0);

create table sendledger.job_run (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('backfill', 'import', 'recover')),
  from_day date,
  to_day date,
  started_by text not null check (started_by <> ''),
  started_at timestamptz not null default now(),
  cancelled_at timestamptz,
  cancelled_by text check (cancelled_by <> ''),
  check (kind <> 'backfill' or (from_day is not null and to_day is not null and to_day >= from_day)),
  check ((cancelled_at is null) = (cancelled_by is null))
);

create table sendledger.job_checkpoint (
  id bigint generated always as identity primary key,
  run_id bigint not null references sendledger.job_run (id),
  provider text not null check (provider <> ''),
  account text not null check (account <> ''),
  -- The route that stands for the account: its zone says what a day is.
  route_id bigint not null references sendledger.route (id),
  day date not null,
  -- waiting: to be read. stored: every row of the day is on disk. applied: each was applied, or waits for its row as receipts do.
  state text not null default 'waiting' check (state in ('waiting', 'stored', 'applied', 'cancelled')),
  -- Reads begun, whatever became of them.
  tries integer not null default 0,
  next_at timestamptz not null default now(),
  asked_at timestamptz,
  lease_token uuid,
  lease_until timestamptz,
  worker_id bigint,
  -- What became of the last try, while it did not do: not_yet, refused, unreadable, unavailable, fault.
  error_kind text,
  error text,
  -- Of the read that was stored: rows of the report, of those the bad ones, bytes of the answer, columns that nobody has mapped.
  rows_read bigint,
  bad_rows bigint,
  bytes_read bigint,
  unmapped_columns text[],
  stored_at timestamptz,
  -- As of the moment it was applied: different receipts, those that nobody had brought before, those applied, those that match no message.
  receipts bigint,
  fresh bigint,
  applied bigint,
  orphans bigint,
  finished_at timestamptz,
  unique (run_id, provider, account, day),
  check ((lease_token is null) = (lease_until is null) and (lease_token is null) = (worker_id is null)),
  check (lease_token is null or state in ('waiting', 'stored')),
  check ((stored_at is not null) = (rows_read is not null)),
  check (state not in ('stored', 'applied') or stored_at is not null),
  check ((state = 'applied') = (receipts is not null)),
  check ((state in ('applied', 'cancelled')) = (finished_at is not null))
);
-- One reader an account, over all runs and workers, and the database says so: the second lease is a violation.
create unique index job_checkpoint_one_reader on sendledger.job_checkpoint (provider, account) where lease_token is not null;
create index job_checkpoint_open on sendledger.job_checkpoint (next_at) where state in ('waiting', 'stored');
create index job_checkpoint_asked on sendledger.job_checkpoint (provider, account, asked_at);
create trigger guard_update before update on sendledger.job_checkpoint
  for each row when (
    (old.state <> new.state and not (
      (old.state = 'waiting' and new.state in ('stored', 'cancelled')) or (old.state = 'stored' and new.state in ('applied', 'cancelled'))))
    or (old.id, old.run_id, old.provider, old.account, old.route_id, old.day) is distinct from (new.id, new.run_id, new.provider, new.account, new.route_id, new.day)
  ) execute function sendledger.refuse('a checkpoint goes from waiting to stored to applied, or is cancelled, and what it is about does not change');

-- Which receipts a day brought. `fresh`: nobody had brought them before.
create table sendledger.job_receipt (
  checkpoint_id bigint not null references sendledger.job_checkpoint (id),
  dedupe_hash bytea not null,
  fresh boolean not null,
  primary key (checkpoint_id, dedupe_hash)
);

-- Rows of a report that are no record: the first of each day, its text dropped.
create table sendledger.job_bad_row (
  checkpoint_id bigint not null references sendledger.job_checkpoint (id),
  -- Place of the file in the archive, and of the line in the file.
  file_no integer not null,
  line_no bigint not null,
  reason text not null check (reason <> ''),
  evidence jsonb not null default '{}',
  primary key (checkpoint_id, file_no, line_no)
);

grant select on sendledger.job_run, sendledger.job_checkpoint, sendledger.job_receipt, sendledger.job_bad_row
  to sendledger_backfill, sendledger_cli, sendledger_ops;
grant update (state, tries, next_at, asked_at, lease_token, lease_until, worker_id, error_kind, error, rows_read, bad_rows, bytes_read, unmapped_columns, stored_at,
  receipts, fresh, applied, orphans, finished_at) on sendledger.job_checkpoint to sendledger_backfill;
grant insert on sendledger.job_receipt, sendledger.job_bad_row to sendledger_backfill;
grant insert on sendledger.job_run, sendledger.job_checkpoint to sendledger_cli, sendledger_ops;
grant update (cancelled_at, cancelled_by) on sendledger.job_run to sendledger_cli, sendledger_ops;
grant update (state, lease_token, lease_until, worker_id, finished_at) on sendledger.job_checkpoint to sendledger_cli, sendledger_ops;
