create table sendledger.outbound_message (
  id bigint not null default nextval('sendledger.message_id_seq'),
  -- Three digits, cut and not rounded: a JavaScript Date holds milliseconds, and rounding up would pass now().
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  updated_at timestamptz not null default now(),

  -- identity
  tenant_id text not null,
  business_key text not null,
  attempt_key uuid not null default gen_random_uuid(),
  event_type text not null,
  event_id text not null,
  event_version text,
  campaign_id text,
  replaces_id bigint,
  replaces_created_at timestamptz(3),

  -- routing
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  recipient text not null check (recipient <> ''),
  country char(2),
  sender_id text,
  route_id bigint not null,
  provider text not null,

  -- content
  body text not null,
  encoding text not null check (encoding in ('GSM7', 'UCS2')),
  segments smallint not null check (segments >= 1),
  template_id text,
  template_version integer,
  template_params jsonb,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,

  -- state machine
  state sendledger.message_state not null default 'pending',
  state_reason text,
  attempt_count smallint not null default 0,
  submission_id bigint,
  submission_created_at timestamptz(3),
  on_proven_absent text not null default 'replay' check (on_proven_absent in ('replay', 'stop')),
  conflict boolean not null default false,

  -- provider identity: three levels, three columns, all text
  provider_txn_id sendledger.foreign_id,
  provider_message_id sendledger.foreign_id,
  provider_campaign_id sendledger.foreign_id,
  provider_status_code text,
  provider_cause text,

  -- clocks
  scheduled_for timestamptz,
  scheduled_tz text,
  due_at timestamptz not null,
  submit_by timestamptz not null,
  claimed_at timestamptz,
  requested_at timestamptz,
  submitted_at timestamptz,
  receipt_by timestamptz,
  delivered_at timestamptz,
  reconciled_at timestamptz,
  billed_after_close_at timestamptz,

  -- money
  quoted_units smallint,
  quoted_cost numeric(12, 4),
  quoted_currency char(3),
  billable_units smallint,
  cost numeric(12, 4),
  cost_currency char(3),
  cost_source sendledger.cost_source,

  -- evidence
  correlation_result sendledger.correlation_result,
  correlation_window_ms integer,

  primary key (id, created_at),
  -- claimed_at too: it is what freezes the content when a release makes the row pending again.
  constraint claimed_has_submission check (state <> 'claimed' or (submission_id is not null and claimed_at is not null)),
  constraint pending_has_no_submission check (state <> 'pending' or submission_id is null),
  constraint submission_reference_whole check ((submission_id is null) = (submission_created_at is null)),
  constraint replaces_reference_whole check ((replaces_id is null) = (replaces_created_at is null)),
  constraint quote_whole check (
    (quoted_units is null) = (quoted_cost is null) and (quoted_cost is null) = (quoted_currency is null)),
  constraint claimed_has_quote check (state <> 'claimed' or quoted_cost is not null),
  constraint cost_whole check (
    (cost is null) = (billable_units is null) and (cost is null) = (cost_currency is null)
    and (cost is null or cost_source is not null)),
  -- Never paid for without a row that says so: from `submitted` on there is a cost, but for rows whose past we only import.
  constraint submitted_has_cost check (
    state not in ('submitted', 'delivered') or cost is not null or coalesce(cost_source in ('imported', 'recovered'), false)),
  -- Nothing is billed before it was accepted; a final row may take its cost once, by later evidence.
  constraint cost_has_its_state check (cost is null or state not in ('pending', 'claimed', 'retry', 'unknown')),
  constraint otp_is_never_replayed_by_itself check (message_class <> 'otp' or on_proven_absent = 'stop')
) partition by range (created_at);

-- Access pattern 1 and 3: the next due rows of a lane, and the age of the oldest.
create index outbound_message_claim on sendledger.outbound_message (route_id, message_class, due_at, id)
  where state in ('pending', 'retry');
-- Access pattern 2: rows stuck in unknown, by the time their request may have left.
create index outbound_message_unresolved on sendledger.outbound_message (requested_at) where state = 'unknown';
-- Access pattern 4: by recipient, sender and window where no transaction id exists.
create index outbound_message_correlate on sendledger.outbound_message (recipient, sender_id, requested_at)
  where provider_txn_id is null and state in ('unknown', 'submitted');
-- Look-ups: the rows of a submission while they can still move; one recipient's history (the sets of the resolver).
create index outbound_message_submission on sendledger.outbound_message (submission_id)
  where state in ('claimed', 'submitted', 'unknown');
create index outbound_message_recipient on sendledger.outbound_message (recipient, created_at);
-- The sweep of worthless rows.
create index outbound_message_submit_by on sendledger.outbound_message (submit_by) where state in ('pending', 'retry');
-- The last hour, for the gauges. Rows lie in the order they came, so a few bytes for each range of pages are enough.
create index outbound_message_created on sendledger.outbound_message using brin (created_at) with (pages_per_range = 32, autosummarize = on);

create table sendledger.message_key (
  tenant_id text not null,
  business_key text not null,
  message_id bigint not null,
  message_created_at timestamptz(3) not null,
  content_hash bytea not null,
  forget_after timestamptz,
  -- Written by the retention job just before the message's month goes; no transition touches it.
  last_state sendledger.message_state,
  primary key (tenant_id, business_key)
) partition by hash (tenant_id, business_key);

create table sendledger.submission (
  id bigint not null default nextval('sendledger.submission_id_seq'),
  created_at timestamptz(3) not null default date_trunc('milliseconds', now()),
  route_id bigint not null,
  message_class sendledger.message_class not null,
  size integer not null check (size >= 1),
  state sendledger.submission_state not null default 'open',
  epoch_no integer not null,
  not_after timestamptz not null,
  claimed_by bigint not null,
  lease_until timestamptz not null,
  is_probe boolean not null default false,

  marked_by bigint,
  requested_at timestamptz,
  lease_token uuid,

  responded_at timestamptz,
  outcome_reason text,
  outcome_proof text,
  provider_txn_id sendledger.foreign_id,
  provider_status_code text,
  http_status smallint,
  raw_reply bytea check (octet_length(raw_reply) <= 65536),
  -- When the provider's report is read next; null: nothing left to ask.
  poll_at timestamptz,
  polls integer not null default 0,

  primary key (id, created_at),
  constraint otp_alone check (message_class <> 'otp' or size = 1),
  constraint mark_whole check ((requested_at is null) = (lease_token is null) and (requested_at is null) = (marked_by is null)),
  constraint state_and_mark_agree check ((state in ('open', 'released')) = (requested_at is null)),
  constraint not_sent_has_proof check (state <> 'not_sent' or outcome_proof is not null)
) partition by range (created_at);
create index submission_open on sendledger.submission (route_id, message_class, id) where state = 'open';
create index submission_marked on sendledger.submission (route_id, lease_until) where state = 'marked';
create index submission_txn on sendledger.submission (provider_txn_id) where provider_txn_id is not null;
create index submission_poll on sendledger.submission (poll_at) where poll_at is not null;

create table sendledger.provider_message (
  -- `provider/account`: ids are unique inside it.
  account text not null,
  provider_message_id sendledger.foreign_id not null,
  -- A provider may start its numbering again; a new era keeps the old owner.
  era integer not null default 0,
  message_id bigint not null,
  message_created_at timestamptz(3) not null,
  first_seen_at timestamptz not null default now(),
  primary key (account, provider_message_id, era)
);

create table sendledger.delivery_receipt (
  id bigint generated always as identity,
  received_at timestamptz not null default now(),
  received_month date not null default date_trunc('month', now() at time zone 'UTC')::date,
  dedupe_hash bytea not null,
  route_id bigint not null,
  source text not null check (source in ('poll', 'push', 'day', 'reply')),
  provider_txn_id sendledger.foreign_id,
  provider_message_id sendledger.foreign_id,
  recipient text,
  sender_id text,
  status_word text not null,
  status text not null check (status in ('open', 'delivered', 'failed', 'unmapped')),
  cause text,
  cause_class text,
  provider_submitted_at timestamptz,
  provider_delivered_at timestamptz,
  -- The record as it came, its text dropped.
  evidence jsonb not null default '{}',
  message_id bigint,
  message_created_at timestamptz(3),
  applied_at timestamptz,
  conflict boolean not null default false,
  primary key (dedupe_hash, received_month)
) partition by range (received_month);
create index delivery_receipt_message on sendledger.delivery_receipt (message_id) where message_id is not null;
create index delivery_receipt_waiting on sendledger.delivery_receipt (received_at) where applied_at is null;
create index delivery_receipt_latest on sendledger.delivery_receipt (received_at desc);
