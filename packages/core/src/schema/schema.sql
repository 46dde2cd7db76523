create type sendledger.cancel_progress as (found integer, message_ids bigint[], message_created_at timestamp with time zone[], released integer, lanes text[], last bigint);
create type sendledger.covered_message as (message_id bigint, message_created_at timestamp with time zone, state sendledger.message_state, scheduled_for timestamp with time zone, submission_id bigint, submission_created_at timestamp with time zone, submission_open boolean);
create type sendledger.enqueue_answer as (ord integer, answer text, message_id text, message_created_at text, attempt_key text, lane text, field text, reason text);
create type sendledger.enqueue_step as (ord integer, step smallint, channel text, route_id bigint, sender_id text, body text, encoding text, segments text, template_id text, template_version text, template_params json, dlt_entity_id text, dlt_template_id text, after_s text, may_duplicate boolean, national_digits integer, problem text);
create type sendledger.replay_answer as (answer text, message_id text, message_created_at text, attempt_key text, lane text, reason text);
create type sendledger.schedule as (at timestamp with time zone, utc_offset_s integer);
create domain sendledger.foreign_id as text CHECK ((VALUE <> ALL (ARRAY[''::text, '0'::text, 'null'::text, 'NULL'::text, '-'::text])));
create type sendledger.correlation_result as enum ('matched', 'not_found', 'ambiguous');
create type sendledger.cost_source as enum ('quote', 'evidence', 'person', 'imported', 'recovered');
create type sendledger.epoch_status as enum ('ok', 'checking', 'hold');
create type sendledger.message_channel as enum ('sms', 'whatsapp', 'voice', 'rcs', 'telegram');
create type sendledger.message_class as enum ('otp', 'transactional', 'promotional');
create type sendledger.message_state as enum ('pending', 'claimed', 'retry', 'submitted', 'unknown', 'delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded');
create type sendledger.submission_state as enum ('open', 'marked', 'released', 'accepted', 'refused', 'not_sent', 'ambiguous');

create sequence sendledger.message_id_seq as bigint increment 1 start 1 cache 200;
create sequence sendledger.submission_id_seq as bigint increment 1 start 1 cache 50;

create table sendledger.absence_watch (
  message_id bigint not null,
  message_created_at timestamp(3) with time zone not null,
  looks integer default 0 not null,
  next_look_at timestamp with time zone not null,
  until timestamp with time zone not null,
  constraint absence_watch_pkey PRIMARY KEY (message_id)
);
create table sendledger.audit (
  name text not null,
  last_run_at timestamp with time zone default '-infinity'::timestamp with time zone not null,
  finished_at timestamp with time zone,
  findings integer default 0 not null,
  constraint audit_pkey PRIMARY KEY (name)
);
create table sendledger.audit_log (
  id bigint generated always as identity not null,
  at timestamp with time zone default now() not null,
  who text not null,
  action text not null,
  subject text not null,
  message_id bigint,
  message_created_at timestamp(3) with time zone,
  why text not null,
  details jsonb default '{}'::jsonb not null,
  constraint audit_log_action_check CHECK ((action <> ''::text)),
  constraint audit_log_check CHECK (((message_id IS NULL) = (message_created_at IS NULL))),
  constraint audit_log_subject_check CHECK ((subject <> ''::text)),
  constraint audit_log_who_check CHECK ((who <> ''::text)),
  constraint audit_log_why_check CHECK ((why <> ''::text)),
  constraint audit_log_pkey PRIMARY KEY (id)
);
create table sendledger.cancellation (
  id bigint generated always as identity not null,
  tenant_id text not null,
  kind text not null,
  message_id bigint,
  business_key text,
  event_type text,
  event_id text,
  campaign_id text,
  message_class sendledger.message_class,
  covers_until timestamp with time zone,
  requested_by text not null,
  reason text not null,
  created_at timestamp with time zone default now() not null,
  constraint cancellation_check CHECK (
CASE kind
    WHEN 'message'::text THEN (message_id IS NOT NULL)
    WHEN 'key'::text THEN (business_key IS NOT NULL)
    WHEN 'event'::text THEN ((event_type IS NOT NULL) AND (event_id IS NOT NULL))
    WHEN 'campaign'::text THEN (campaign_id IS NOT NULL)
    ELSE (covers_until IS NOT NULL)
END),
  constraint cancellation_kind_check CHECK ((kind = ANY (ARRAY['message'::text, 'key'::text, 'event'::text, 'campaign'::text, 'tenant'::text]))),
  constraint cancellation_pkey PRIMARY KEY (id)
);
create table sendledger.census (
  only_row boolean default true not null,
  holder bigint,
  held_until timestamp with time zone,
  counted_at timestamp with time zone,
  took_ms integer,
  figures jsonb,
  constraint census_check CHECK (((holder IS NULL) = (held_until IS NULL))),
  constraint census_check1 CHECK ((((counted_at IS NULL) = (figures IS NULL)) AND ((counted_at IS NULL) = (took_ms IS NULL)))),
  constraint census_only_row_check CHECK (only_row),
  constraint census_pkey PRIMARY KEY (only_row)
);
create table sendledger.charge_adjustment (
  id bigint generated always as identity not null,
  message_id bigint not null,
  message_created_at timestamp(3) with time zone not null,
  amount numeric(12,4) not null,
  currency character(3) not null,
  kind text not null,
  evidence text not null,
  created_by text not null,
  created_at timestamp with time zone default now() not null,
  constraint charge_adjustment_amount_check CHECK ((amount <> (0)::numeric)),
  constraint charge_adjustment_check CHECK (((kind <> 'refund'::text) OR (amount < (0)::numeric))),
  constraint charge_adjustment_created_by_check CHECK ((created_by <> ''::text)),
  constraint charge_adjustment_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint charge_adjustment_evidence_check CHECK ((evidence <> ''::text)),
  constraint charge_adjustment_kind_check CHECK ((kind = ANY (ARRAY['refund'::text, 'correction'::text]))),
  constraint charge_adjustment_pkey PRIMARY KEY (id),
  constraint charge_adjustment_message_id_evidence_key UNIQUE (message_id, evidence)
);
create table sendledger.dataset_epoch (
  only_row boolean default true not null,
  environment text not null,
  system_identifier text not null,
  timeline text not null,
  epoch_no integer default 1 not null,
  status sendledger.epoch_status default 'ok'::sendledger.epoch_status not null,
  status_reason text,
  held_to_message_id bigint,
  heartbeat_at timestamp with time zone default now() not null,
  constraint dataset_epoch_environment_check CHECK ((environment <> ''::text)),
  constraint dataset_epoch_only_row_check CHECK (only_row),
  constraint dataset_epoch_pkey PRIMARY KEY (only_row)
);
create table sendledger.delivery_receipt (
  id bigint generated always as identity not null,
  received_at timestamp with time zone default now() not null,
  received_month date default (date_trunc('month'::text, (now() AT TIME ZONE 'UTC'::text)))::date not null,
  dedupe_hash bytea not null,
  route_id bigint not null,
  source text not null,
  provider_txn_id sendledger.foreign_id,
  provider_message_id sendledger.foreign_id,
  recipient text,
  sender_id text,
  status_word text not null,
  status text not null,
  cause text,
  cause_class text,
  provider_submitted_at timestamp with time zone,
  provider_delivered_at timestamp with time zone,
  evidence jsonb default '{}'::jsonb not null,
  message_id bigint,
  message_created_at timestamp(3) with time zone,
  applied_at timestamp with time zone,
  conflict boolean default false not null,
  hint boolean default false not null,
  next_look_at timestamp with time zone default now() not null,
  looks smallint default 0 not null,
  constraint delivery_receipt_source_check CHECK ((source = ANY (ARRAY['poll'::text, 'push'::text, 'day'::text, 'reply'::text]))),
  constraint delivery_receipt_status_check CHECK ((status = ANY (ARRAY['open'::text, 'delivered'::text, 'failed'::text, 'unmapped'::text]))),
  constraint delivery_receipt_pkey PRIMARY KEY (dedupe_hash, received_month)
) partition by RANGE (received_month);
create table sendledger.fallback (
  tenant_id text not null,
  business_key text not null,
  step smallint not null,
  channel sendledger.message_channel not null,
  route_id bigint not null,
  sender_id text,
  body text not null,
  encoding text not null,
  segments smallint not null,
  template_id text,
  template_version integer,
  template_params jsonb,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,
  after interval,
  may_duplicate boolean default false not null,
  look_at timestamp with time zone,
  taken_at timestamp with time zone,
  constraint fallback_after_check CHECK ((after > '00:00:00'::interval)),
  constraint fallback_body_check CHECK ((body <> ''::text)),
  constraint fallback_check CHECK (((after IS NULL) OR may_duplicate)),
  constraint fallback_encoding_check CHECK ((encoding = ANY (ARRAY['GSM7'::text, 'UCS2'::text]))),
  constraint fallback_segments_check CHECK ((segments >= 1)),
  constraint fallback_step_check CHECK ((step >= 1)),
  constraint fallback_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint fallback_pkey PRIMARY KEY (tenant_id, business_key, step)
);
create table sendledger.job_bad_row (
  checkpoint_id bigint not null,
  file_no integer not null,
  line_no bigint not null,
  reason text not null,
  evidence jsonb default '{}'::jsonb not null,
  constraint job_bad_row_reason_check CHECK ((reason <> ''::text)),
  constraint job_bad_row_checkpoint_id_fkey FOREIGN KEY (checkpoint_id) REFERENCES sendledger.job_checkpoint(id),
  constraint job_bad_row_pkey PRIMARY KEY (checkpoint_id, file_no, line_no)
);
create table sendledger.job_checkpoint (
  id bigint generated always as identity not null,
  run_id bigint not null,
  provider text not null,
  account text not null,
  route_id bigint not null,
  day date not null,
  state text default 'waiting'::text not null,
  tries integer default 0 not null,
  next_at timestamp with time zone default now() not null,
  asked_at timestamp with time zone,
  lease_token uuid,
  lease_until timestamp with time zone,
  worker_id bigint,
  error_kind text,
  error text,
  rows_read bigint,
  bad_rows bigint,
  bytes_read bigint,
  unmapped_columns text[],
  stored_at timestamp with time zone,
  receipts bigint,
  fresh bigint,
  applied bigint,
  orphans bigint,
  finished_at timestamp with time zone,
  constraint job_checkpoint_account_check CHECK ((account <> ''::text)),
  constraint job_checkpoint_check CHECK ((((lease_token IS NULL) = (lease_until IS NULL)) AND ((lease_token IS NULL) = (worker_id IS NULL)))),
  constraint job_checkpoint_check1 CHECK (((lease_token IS NULL) OR (state = ANY (ARRAY['waiting'::text, 'stored'::text])))),
  constraint job_checkpoint_check2 CHECK (((stored_at IS NOT NULL) = (rows_read IS NOT NULL))),
  constraint job_checkpoint_check3 CHECK (((state <> ALL (ARRAY['stored'::text, 'applied'::text])) OR (stored_at IS NOT NULL))),
  constraint job_checkpoint_check4 CHECK (((state = 'applied'::text) = (receipts IS NOT NULL))),
  constraint job_checkpoint_check5 CHECK (((state = ANY (ARRAY['applied'::text, 'cancelled'::text])) = (finished_at IS NOT NULL))),
  constraint job_checkpoint_provider_check CHECK ((provider <> ''::text)),
  constraint job_checkpoint_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'stored'::text, 'applied'::text, 'cancelled'::text]))),
  constraint job_checkpoint_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint job_checkpoint_run_id_fkey FOREIGN KEY (run_id) REFERENCES sendledger.job_run(id),
  constraint job_checkpoint_pkey PRIMARY KEY (id),
  constraint job_checkpoint_run_id_provider_account_day_key UNIQUE (run_id, provider, account, day)
);
create table sendledger.job_receipt (
  checkpoint_id bigint not null,
  dedupe_hash bytea not null,
  fresh boolean not null,
  constraint job_receipt_checkpoint_id_fkey FOREIGN KEY (checkpoint_id) REFERENCES sendledger.job_checkpoint(id),
  constraint job_receipt_pkey PRIMARY KEY (checkpoint_id, dedupe_hash)
);
create table sendledger.job_run (
  id bigint generated always as identity not null,
  kind text not null,
  from_day date,
  to_day date,
  started_by text not null,
  started_at timestamp with time zone default now() not null,
  cancelled_at timestamp with time zone,
  cancelled_by text,
  constraint job_run_cancelled_by_check CHECK ((cancelled_by <> ''::text)),
  constraint job_run_check CHECK (((kind <> 'backfill'::text) OR ((from_day IS NOT NULL) AND (to_day IS NOT NULL) AND (to_day >= from_day)))),
  constraint job_run_check1 CHECK (((cancelled_at IS NULL) = (cancelled_by IS NULL))),
  constraint job_run_kind_check CHECK ((kind = ANY (ARRAY['backfill'::text, 'import'::text, 'recover'::text]))),
  constraint job_run_started_by_check CHECK ((started_by <> ''::text)),
  constraint job_run_pkey PRIMARY KEY (id)
);
create table sendledger.lane (
  route_id bigint not null,
  message_class sendledger.message_class not null,
  paused_at timestamp with time zone,
  pause_reason text,
  submit_within interval not null,
  receipt_within interval not null,
  updated_at timestamp with time zone default now() not null,
  settle_within interval default '00:30:00'::interval not null,
  window_opens time without time zone,
  window_closes time without time zone,
  window_zone text,
  constraint lane_receipt_within_check CHECK ((receipt_within > '00:00:00'::interval)),
  constraint lane_settle_within_check CHECK ((settle_within > '00:00:00'::interval)),
  constraint lane_submit_within_check CHECK ((submit_within > '00:00:00'::interval)),
  constraint lane_window_open CHECK ((window_opens <> window_closes)),
  constraint lane_window_whole CHECK ((((window_opens IS NULL) = (window_closes IS NULL)) AND ((window_opens IS NULL) = (window_zone IS NULL)))),
  constraint lane_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint lane_pkey PRIMARY KEY (route_id, message_class)
);
create table sendledger.message_key (
  tenant_id text not null,
  business_key text not null,
  message_id bigint not null,
  message_created_at timestamp(3) with time zone not null,
  content_hash bytea not null,
  forget_after timestamp with time zone,
  last_state sendledger.message_state,
  event_id text,
  campaign_id text,
  constraint message_key_pkey PRIMARY KEY (tenant_id, business_key)
) partition by HASH (tenant_id, business_key);
create table sendledger.message_template (
  template_id text not null,
  version integer not null,
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  body text not null,
  variables jsonb default '[]'::jsonb not null,
  sender_id text,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,
  created_at timestamp with time zone default now() not null,
  retired_at timestamp with time zone,
  valid_for_s integer,
  fallback jsonb default '[]'::jsonb not null,
  constraint message_template_body_check CHECK ((body <> ''::text)),
  constraint message_template_template_id_check CHECK ((template_id <> ''::text)),
  constraint message_template_valid_for_s_check CHECK (((valid_for_s >= 10) AND (valid_for_s <= 604800))),
  constraint message_template_version_check CHECK ((version >= 1)),
  constraint message_template_pkey PRIMARY KEY (template_id, version)
);
create table sendledger.outbound_message (
  id bigint default nextval('sendledger.message_id_seq'::regclass) not null,
  created_at timestamp(3) with time zone default date_trunc('milliseconds'::text, now()) not null,
  updated_at timestamp with time zone default now() not null,
  tenant_id text not null,
  business_key text not null,
  attempt_key uuid default gen_random_uuid() not null,
  event_type text not null,
  event_id text not null,
  event_version text,
  campaign_id text,
  replaces_id bigint,
  replaces_created_at timestamp(3) with time zone,
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  recipient text not null,
  country character(2),
  sender_id text,
  route_id bigint not null,
  provider text not null,
  body text not null,
  encoding text not null,
  segments smallint not null,
  template_id text,
  template_version integer,
  template_params jsonb,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,
  state sendledger.message_state default 'pending'::sendledger.message_state not null,
  state_reason text,
  attempt_count smallint default 0 not null,
  submission_id bigint,
  submission_created_at timestamp(3) with time zone,
  on_proven_absent text default 'replay'::text not null,
  conflict boolean default false not null,
  provider_txn_id sendledger.foreign_id,
  provider_message_id sendledger.foreign_id,
  provider_campaign_id sendledger.foreign_id,
  provider_status_code text,
  provider_cause text,
  scheduled_for timestamp with time zone,
  scheduled_tz text,
  due_at timestamp with time zone not null,
  submit_by timestamp with time zone not null,
  claimed_at timestamp with time zone,
  requested_at timestamp with time zone,
  submitted_at timestamp with time zone,
  receipt_by timestamp with time zone,
  delivered_at timestamp with time zone,
  reconciled_at timestamp with time zone,
  billed_after_close_at timestamp with time zone,
  quoted_units smallint,
  quoted_cost numeric(12,4),
  quoted_currency character(3),
  billable_units smallint,
  cost numeric(12,4),
  cost_currency character(3),
  cost_source sendledger.cost_source,
  correlation_result sendledger.correlation_result,
  correlation_window_ms integer,
  held_by text default 'us'::text not null,
  scheduled_offset_s integer,
  asked_again_at timestamp with time zone,
  fallback_step smallint,
  constraint claimed_has_quote CHECK (((state <> 'claimed'::sendledger.message_state) OR (quoted_cost IS NOT NULL))),
  constraint claimed_has_submission CHECK (((state <> 'claimed'::sendledger.message_state) OR ((submission_id IS NOT NULL) AND (claimed_at IS NOT NULL)))),
  constraint cost_has_its_state CHECK (((cost IS NULL) OR (state <> ALL (ARRAY['pending'::sendledger.message_state, 'claimed'::sendledger.message_state, 'retry'::sendledger.message_state, 'unknown'::sendledger.message_state])))),
  constraint cost_whole CHECK ((((cost IS NULL) = (billable_units IS NULL)) AND ((cost IS NULL) = (cost_currency IS NULL)) AND ((cost IS NULL) OR (cost_source IS NOT NULL)))),
  constraint held_needs_schedule CHECK (((held_by = 'us'::text) OR ((scheduled_for IS NOT NULL) AND (message_class <> 'otp'::sendledger.message_class)))),
  constraint offset_needs_zone CHECK (((scheduled_offset_s IS NULL) OR ((scheduled_for IS NOT NULL) AND (scheduled_tz IS NOT NULL)))),
  constraint otp_is_never_replayed_by_itself CHECK (((message_class <> 'otp'::sendledger.message_class) OR (on_proven_absent = 'stop'::text))),
  constraint outbound_message_encoding_check CHECK ((encoding = ANY (ARRAY['GSM7'::text, 'UCS2'::text]))),
  constraint outbound_message_fallback_step_check CHECK ((fallback_step >= 1)),
  constraint outbound_message_held_by_check CHECK ((held_by = ANY (ARRAY['us'::text, 'provider'::text]))),
  constraint outbound_message_on_proven_absent_check CHECK ((on_proven_absent = ANY (ARRAY['replay'::text, 'stop'::text]))),
  constraint outbound_message_recipient_check CHECK ((recipient <> ''::text)),
  constraint outbound_message_scheduled_offset_s_check CHECK (((scheduled_offset_s >= '-64800'::integer) AND (scheduled_offset_s <= 64800))),
  constraint outbound_message_segments_check CHECK ((segments >= 1)),
  constraint pending_has_no_submission CHECK (((state <> 'pending'::sendledger.message_state) OR (submission_id IS NULL))),
  constraint quote_whole CHECK ((((quoted_units IS NULL) = (quoted_cost IS NULL)) AND ((quoted_cost IS NULL) = (quoted_currency IS NULL)))),
  constraint replaces_reference_whole CHECK (((replaces_id IS NULL) = (replaces_created_at IS NULL))),
  constraint submission_reference_whole CHECK (((submission_id IS NULL) = (submission_created_at IS NULL))),
  constraint submitted_has_cost CHECK (((state <> ALL (ARRAY['submitted'::sendledger.message_state, 'delivered'::sendledger.message_state])) OR (cost IS NOT NULL) OR COALESCE((cost_source = ANY (ARRAY['imported'::sendledger.cost_source, 'recovered'::sendledger.cost_source])), false))),
  constraint outbound_message_pkey PRIMARY KEY (id, created_at)
) partition by RANGE (created_at);
create table sendledger.provider_message (
  account text not null,
  provider_message_id sendledger.foreign_id not null,
  era integer default 0 not null,
  message_id bigint not null,
  message_created_at timestamp(3) with time zone not null,
  first_seen_at timestamp with time zone default now() not null,
  constraint provider_message_pkey PRIMARY KEY (account, provider_message_id, era)
);
create table sendledger.rate_card (
  id bigint generated always as identity not null,
  route_id bigint not null,
  price_key text not null,
  currency character(3) not null,
  price numeric(12,6) not null,
  valid tstzrange default tstzrange(now(), NULL::timestamp with time zone) not null,
  constraint rate_card_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint rate_card_price_check CHECK ((price >= (0)::numeric)),
  constraint rate_card_price_key_check CHECK ((price_key ~ '^(\*|(otp|transactional|promotional):(\*|[A-Z]{2}))$'::text)),
  constraint rate_card_valid_check CHECK ((NOT isempty(valid))),
  constraint rate_card_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint rate_card_pkey PRIMARY KEY (id),
  constraint rate_card_no_overlap EXCLUDE USING gist (route_id WITH =, price_key WITH =, valid WITH &&)
);
create table sendledger.review_item (
  id bigint generated always as identity not null,
  kind text not null,
  subject text not null,
  route_id bigint,
  message_id bigint,
  message_created_at timestamp(3) with time zone,
  submission_id bigint,
  submission_created_at timestamp(3) with time zone,
  evidence jsonb default '{}'::jsonb not null,
  opened_at timestamp with time zone default now() not null,
  resolved_at timestamp with time zone,
  resolved_by text,
  resolution text,
  note text,
  constraint review_item_check CHECK (((resolved_at IS NULL) = (resolution IS NULL))),
  constraint review_item_check1 CHECK (((resolved_at IS NULL) OR ((resolved_by IS NOT NULL) AND (note IS NOT NULL)))),
  constraint review_item_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint review_item_pkey PRIMARY KEY (id)
);
create table sendledger.route (
  id bigint generated always as identity not null,
  name text not null,
  provider text not null,
  account text not null,
  channel sendledger.message_channel not null,
  max_batch integer default 500 not null,
  encoding_rule text default 'gsm7'::text not null,
  default_sender_id text,
  sender_required boolean default false not null,
  national_digits smallint,
  provider_zone text default 'UTC'::text not null,
  max_in_flight_requests integer default 32 not null,
  max_in_flight_rows integer default 20000 not null,
  max_open_submissions integer default 256 not null,
  paused_at timestamp with time zone,
  pause_reason text,
  breaker_state text default 'closed'::text not null,
  breaker_failures integer default 0 not null,
  breaker_threshold integer default 5 not null,
  probe_at timestamp with time zone,
  hold boolean default false not null,
  hold_reason text,
  retired_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  breaker_opened_at timestamp with time zone,
  breaker_reason text,
  probes integer default 0 not null,
  probe_first_ms integer default 5000 not null,
  probe_longest_ms integer default 300000 not null,
  clock_offset_ms bigint,
  clock_pairs integer default 0 not null,
  clock_seen_at timestamp with time zone,
  rate_per_second numeric(12,4),
  rate_unit text default 'requests'::text not null,
  burst_seconds numeric(12,4) default 1 not null,
  otp_reserve numeric(12,4) default 0.25 not null,
  throttled_until timestamp with time zone,
  probe_forced boolean default false not null,
  breaker_closed_at timestamp with time zone,
  schedule_lead interval,
  reads_per_minute numeric(12,4) default 6,
  constraint route_account_check CHECK ((account <> ''::text)),
  constraint route_breaker_state_check CHECK ((breaker_state = ANY (ARRAY['closed'::text, 'open'::text]))),
  constraint route_breaker_threshold_check CHECK ((breaker_threshold >= 1)),
  constraint route_breaker_whole CHECK ((((breaker_state = 'open'::text) = (breaker_opened_at IS NOT NULL)) AND ((breaker_state = 'closed'::text) OR (probe_at IS NOT NULL)))),
  constraint route_burst_seconds_check CHECK ((burst_seconds > (0)::numeric)),
  constraint route_clock_whole CHECK (((clock_offset_ms IS NULL) = (clock_seen_at IS NULL))),
  constraint route_encoding_rule_check CHECK ((encoding_rule = ANY (ARRAY['gsm7'::text, 'ascii'::text]))),
  constraint route_max_batch_check CHECK (((max_batch >= 1) AND (max_batch <= 10000))),
  constraint route_max_in_flight_requests_check CHECK ((max_in_flight_requests >= 1)),
  constraint route_max_in_flight_rows_check CHECK ((max_in_flight_rows >= 1)),
  constraint route_max_open_submissions_check CHECK ((max_open_submissions >= 1)),
  constraint route_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text)),
  constraint route_otp_reserve_check CHECK (((otp_reserve >= (0)::numeric) AND (otp_reserve < (1)::numeric))),
  constraint route_probe_check CHECK ((probe_longest_ms >= probe_first_ms)),
  constraint route_probe_first_ms_check CHECK ((probe_first_ms >= 1)),
  constraint route_provider_check CHECK ((provider <> ''::text)),
  constraint route_rate_per_second_check CHECK ((rate_per_second >= (0)::numeric)),
  constraint route_rate_unit_check CHECK ((rate_unit = ANY (ARRAY['requests'::text, 'recipients'::text]))),
  constraint route_reads_per_minute_check CHECK ((reads_per_minute > (0)::numeric)),
  constraint route_schedule_lead_check CHECK ((schedule_lead > '00:00:00'::interval)),
  constraint route_pkey PRIMARY KEY (id),
  constraint route_name_key UNIQUE (name)
);
create table sendledger.schedule_change (
  id bigint generated always as identity not null,
  tenant_id text not null,
  route_id bigint not null,
  submission_id bigint not null,
  submission_created_at timestamp(3) with time zone not null,
  provider_txn_id sendledger.foreign_id not null,
  kind text not null,
  scheduled_for timestamp with time zone not null,
  move_to timestamp with time zone,
  requested_by text not null,
  reason text not null,
  created_at timestamp with time zone default now() not null,
  state text default 'asked'::text not null,
  asks integer default 0 not null,
  next_at timestamp with time zone default now() not null,
  answered text,
  seen text,
  ended_at timestamp with time zone,
  constraint schedule_change_check CHECK (((kind = 'move'::text) = (move_to IS NOT NULL))),
  constraint schedule_change_check1 CHECK (((state = 'asked'::text) = (ended_at IS NULL))),
  constraint schedule_change_kind_check CHECK ((kind = ANY (ARRAY['cancel'::text, 'move'::text]))),
  constraint schedule_change_reason_check CHECK ((reason <> ''::text)),
  constraint schedule_change_requested_by_check CHECK ((requested_by <> ''::text)),
  constraint schedule_change_state_check CHECK ((state = ANY (ARRAY['asked'::text, 'done'::text, 'too_late'::text, 'refused'::text]))),
  constraint schedule_change_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint schedule_change_pkey PRIMARY KEY (id)
);
create table sendledger.submission (
  id bigint default nextval('sendledger.submission_id_seq'::regclass) not null,
  created_at timestamp(3) with time zone default date_trunc('milliseconds'::text, now()) not null,
  route_id bigint not null,
  message_class sendledger.message_class not null,
  size integer not null,
  state sendledger.submission_state default 'open'::sendledger.submission_state not null,
  epoch_no integer not null,
  not_after timestamp with time zone not null,
  claimed_by bigint not null,
  lease_until timestamp with time zone not null,
  is_probe boolean default false not null,
  marked_by bigint,
  requested_at timestamp with time zone,
  lease_token uuid,
  responded_at timestamp with time zone,
  outcome_reason text,
  outcome_proof text,
  provider_txn_id sendledger.foreign_id,
  provider_status_code text,
  http_status smallint,
  raw_reply bytea,
  poll_at timestamp with time zone,
  polls integer default 0 not null,
  constraint mark_whole CHECK ((((requested_at IS NULL) = (lease_token IS NULL)) AND ((requested_at IS NULL) = (marked_by IS NULL)))),
  constraint not_sent_has_proof CHECK (((state <> 'not_sent'::sendledger.submission_state) OR (outcome_proof IS NOT NULL))),
  constraint otp_alone CHECK (((message_class <> 'otp'::sendledger.message_class) OR (size = 1))),
  constraint state_and_mark_agree CHECK (((state = ANY (ARRAY['open'::sendledger.submission_state, 'released'::sendledger.submission_state])) = (requested_at IS NULL))),
  constraint submission_raw_reply_check CHECK ((octet_length(raw_reply) <= 65536)),
  constraint submission_size_check CHECK ((size >= 1)),
  constraint submission_pkey PRIMARY KEY (id, created_at)
) partition by RANGE (created_at);
create table sendledger.tenant (
  tenant_id text not null,
  default_region character(2),
  weight integer default 1 not null,
  allowed_classes sendledger.message_class[],
  constraint tenant_allowed_classes_check CHECK ((cardinality(allowed_classes) > 0)),
  constraint tenant_default_region_check CHECK ((default_region ~ '^[A-Z]{2}$'::text)),
  constraint tenant_tenant_id_check CHECK ((tenant_id <> ''::text)),
  constraint tenant_weight_check CHECK (((weight >= 1) AND (weight <= 1000))),
  constraint tenant_pkey PRIMARY KEY (tenant_id)
);
create table sendledger.tenant_route (
  tenant_id text not null,
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  route_id bigint not null,
  constraint tenant_route_route_id_fkey FOREIGN KEY (route_id) REFERENCES sendledger.route(id),
  constraint tenant_route_pkey PRIMARY KEY (tenant_id, channel, message_class)
);
create table sendledger.worker (
  id bigint generated always as identity not null,
  instance text not null,
  boot_id uuid not null,
  app text not null,
  started_at timestamp with time zone default now() not null,
  last_seen_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  holds_from timestamp with time zone,
  holds_said_at timestamp with time zone,
  limiter text,
  constraint worker_limiter_check CHECK ((limiter = ANY (ARRAY['redis'::text, 'own'::text]))),
  constraint worker_pkey PRIMARY KEY (id),
  constraint worker_boot_id_key UNIQUE (boot_id)
);
create table sendledger.delivery_receipt_default partition of sendledger.delivery_receipt DEFAULT;
create table sendledger.message_key_0 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 0);
create table sendledger.message_key_1 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 1);
create table sendledger.message_key_2 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 2);
create table sendledger.message_key_3 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 3);
create table sendledger.message_key_4 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 4);
create table sendledger.message_key_5 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 5);
create table sendledger.message_key_6 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 6);
create table sendledger.message_key_7 partition of sendledger.message_key FOR VALUES WITH (modulus 8, remainder 7);
create table sendledger.outbound_message_default partition of sendledger.outbound_message DEFAULT;
create table sendledger.submission_default partition of sendledger.submission DEFAULT;

CREATE INDEX absence_watch_due ON sendledger.absence_watch USING btree (next_look_at);
CREATE INDEX audit_log_message ON sendledger.audit_log USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX cancellation_campaign ON sendledger.cancellation USING btree (tenant_id, campaign_id) WHERE (kind = 'campaign'::text);
CREATE INDEX cancellation_event ON sendledger.cancellation USING btree (tenant_id, event_id, event_type) WHERE (kind = 'event'::text);
CREATE INDEX cancellation_key ON sendledger.cancellation USING btree (tenant_id, business_key) WHERE (kind = 'key'::text);
CREATE INDEX cancellation_message ON sendledger.cancellation USING btree (message_id) WHERE (kind = 'message'::text);
CREATE INDEX cancellation_tenant ON sendledger.cancellation USING btree (tenant_id, covers_until) WHERE (kind = 'tenant'::text);
CREATE INDEX delivery_receipt_latest ON ONLY sendledger.delivery_receipt USING btree (received_at DESC);
CREATE INDEX delivery_receipt_message ON ONLY sendledger.delivery_receipt USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX delivery_receipt_waiting ON ONLY sendledger.delivery_receipt USING btree (next_look_at) WHERE (applied_at IS NULL);
CREATE INDEX fallback_look ON sendledger.fallback USING btree (look_at) WHERE ((look_at IS NOT NULL) AND (taken_at IS NULL));
CREATE INDEX job_checkpoint_asked ON sendledger.job_checkpoint USING btree (provider, account, asked_at);
CREATE UNIQUE INDEX job_checkpoint_one_reader ON sendledger.job_checkpoint USING btree (provider, account) WHERE (lease_token IS NOT NULL);
CREATE INDEX job_checkpoint_open ON sendledger.job_checkpoint USING btree (next_at) WHERE (state = ANY (ARRAY['waiting'::text, 'stored'::text]));
CREATE INDEX message_key_campaign ON ONLY sendledger.message_key USING btree (tenant_id, campaign_id, message_id) WHERE (campaign_id IS NOT NULL);
CREATE INDEX message_key_event ON ONLY sendledger.message_key USING btree (tenant_id, event_id, message_id);
CREATE INDEX outbound_message_claim ON ONLY sendledger.outbound_message USING btree (route_id, message_class, due_at, id) WHERE (state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]));
CREATE INDEX outbound_message_closed ON ONLY sendledger.outbound_message USING btree (submission_id) WHERE ((state = ANY (ARRAY['delivered'::sendledger.message_state, 'failed'::sendledger.message_state, 'rejected'::sendledger.message_state, 'expired'::sendledger.message_state])) AND (submission_id IS NOT NULL));
CREATE INDEX outbound_message_code ON ONLY sendledger.outbound_message USING btree (recipient) WHERE ((message_class = 'otp'::sendledger.message_class) AND (state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state, 'claimed'::sendledger.message_state])));
CREATE INDEX outbound_message_correlate ON ONLY sendledger.outbound_message USING btree (recipient, sender_id, requested_at) WHERE ((provider_txn_id IS NULL) AND (state = ANY (ARRAY['unknown'::sendledger.message_state, 'submitted'::sendledger.message_state])));
CREATE INDEX outbound_message_created ON ONLY sendledger.outbound_message USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX outbound_message_fair ON ONLY sendledger.outbound_message USING btree (route_id, message_class, tenant_id, due_at, id) WHERE (state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]));
CREATE INDEX outbound_message_fallback ON ONLY sendledger.outbound_message USING btree (id) WHERE ((fallback_step IS NOT NULL) AND (state = ANY (ARRAY['rejected'::sendledger.message_state, 'failed'::sendledger.message_state])));
CREATE INDEX outbound_message_held ON ONLY sendledger.outbound_message USING btree (scheduled_for) WHERE ((held_by = 'provider'::text) AND (state = 'submitted'::sendledger.message_state));
CREATE INDEX outbound_message_recipient ON ONLY sendledger.outbound_message USING btree (recipient, created_at);
CREATE INDEX outbound_message_replaces ON ONLY sendledger.outbound_message USING btree (replaces_id) WHERE (replaces_id IS NOT NULL);
CREATE INDEX outbound_message_submission ON ONLY sendledger.outbound_message USING btree (submission_id) WHERE (state = ANY (ARRAY['claimed'::sendledger.message_state, 'submitted'::sendledger.message_state, 'unknown'::sendledger.message_state]));
CREATE INDEX outbound_message_submit_by ON ONLY sendledger.outbound_message USING btree (submit_by) WHERE (state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]));
CREATE INDEX outbound_message_unresolved ON ONLY sendledger.outbound_message USING btree (requested_at) WHERE (state = 'unknown'::sendledger.message_state);
CREATE INDEX outbound_message_zoned ON ONLY sendledger.outbound_message USING btree (scheduled_for) WHERE (scheduled_offset_s IS NOT NULL);
CREATE INDEX review_item_message ON sendledger.review_item USING btree (message_id) WHERE ((resolved_at IS NULL) AND (message_id IS NOT NULL));
CREATE INDEX review_item_messages ON sendledger.review_item USING gin (((evidence -> 'messages'::text)) jsonb_path_ops);
CREATE INDEX review_item_of_message ON sendledger.review_item USING btree (message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX review_item_of_submission ON sendledger.review_item USING btree (submission_id) WHERE (submission_id IS NOT NULL);
CREATE UNIQUE INDEX review_item_open ON sendledger.review_item USING btree (kind, subject) WHERE (resolved_at IS NULL);
CREATE INDEX review_item_subject ON sendledger.review_item USING btree (kind, subject);
CREATE INDEX schedule_change_due ON sendledger.schedule_change USING btree (next_at) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX schedule_change_open ON sendledger.schedule_change USING btree (submission_id, kind) WHERE (ended_at IS NULL);
CREATE INDEX schedule_change_submission ON sendledger.schedule_change USING btree (submission_id);
CREATE INDEX submission_marked ON ONLY sendledger.submission USING btree (route_id, lease_until) WHERE (state = 'marked'::sendledger.submission_state);
CREATE INDEX submission_open ON ONLY sendledger.submission USING btree (route_id, message_class, id) WHERE (state = 'open'::sendledger.submission_state);
CREATE INDEX submission_poll ON ONLY sendledger.submission USING btree (poll_at) WHERE (poll_at IS NOT NULL);
CREATE INDEX submission_txn ON ONLY sendledger.submission USING btree (provider_txn_id) WHERE (provider_txn_id IS NOT NULL);
CREATE INDEX worker_alive ON sendledger.worker USING btree (app, last_seen_at) WHERE (ended_at IS NULL);

CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.audit_log FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('what a person did stays as it was written');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.audit_log FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('what a person did stays as it was written');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.audit_log FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('what a person did stays as it was written');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.cancellation FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('a cancellation is a fact and is not deleted');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.cancellation FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('a cancellation is a fact and is not deleted');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.cancellation FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('a cancellation is a fact and does not change');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.charge_adjustment FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('an adjustment is a fact and is not deleted');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.charge_adjustment FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('an adjustment is a fact and is not deleted');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.charge_adjustment FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('an adjustment is a fact and does not change; book another');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.delivery_receipt FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('a receipt is evidence and is not deleted');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.delivery_receipt FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('receipts are not truncated; a month is detached');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.delivery_receipt FOR EACH ROW WHEN (((((((((((((((((old.id IS DISTINCT FROM new.id) OR (old.received_at IS DISTINCT FROM new.received_at)) OR (old.received_month IS DISTINCT FROM new.received_month)) OR (old.dedupe_hash IS DISTINCT FROM new.dedupe_hash)) OR (old.route_id IS DISTINCT FROM new.route_id)) OR (old.source IS DISTINCT FROM new.source)) OR ((old.provider_txn_id)::text IS DISTINCT FROM (new.provider_txn_id)::text)) OR ((old.provider_message_id)::text IS DISTINCT FROM (new.provider_message_id)::text)) OR (old.recipient IS DISTINCT FROM new.recipient)) OR (old.sender_id IS DISTINCT FROM new.sender_id)) OR (old.status_word IS DISTINCT FROM new.status_word)) OR (old.cause IS DISTINCT FROM new.cause)) OR (old.provider_submitted_at IS DISTINCT FROM new.provider_submitted_at)) OR (old.provider_delivered_at IS DISTINCT FROM new.provider_delivered_at)) OR (old.evidence IS DISTINCT FROM new.evidence)) OR ((old.message_id IS NOT NULL) AND ((old.message_id IS DISTINCT FROM new.message_id) OR (old.message_created_at IS DISTINCT FROM new.message_created_at))) OR ((old.applied_at IS NOT NULL) AND (new.applied_at IS DISTINCT FROM old.applied_at)) OR (old.conflict AND (NOT new.conflict)))) EXECUTE FUNCTION sendledger.refuse('a receipt is evidence: it is matched and applied once, and never changed');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.delivery_receipt_default FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('delivery_receipt is not truncated; a partition is detached');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.job_checkpoint FOR EACH ROW WHEN ((((old.state <> new.state) AND (NOT (((old.state = 'waiting'::text) AND (new.state = ANY (ARRAY['stored'::text, 'cancelled'::text]))) OR ((old.state = 'stored'::text) AND (new.state = ANY (ARRAY['applied'::text, 'cancelled'::text])))))) OR ((((((old.id IS DISTINCT FROM new.id) OR (old.run_id IS DISTINCT FROM new.run_id)) OR (old.provider IS DISTINCT FROM new.provider)) OR (old.account IS DISTINCT FROM new.account)) OR (old.route_id IS DISTINCT FROM new.route_id)) OR (old.day IS DISTINCT FROM new.day)))) EXECUTE FUNCTION sendledger.refuse('a checkpoint goes from waiting to stored to applied, or is cancelled, and what it is about does not change');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.message_key FOR EACH ROW WHEN (((old.forget_after IS NULL) OR (old.forget_after > now()))) EXECUTE FUNCTION sendledger.refuse('a business key is kept until forget_after');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('keys are not truncated: they are what makes a repeat a duplicate');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_0 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_1 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_2 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_3 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_4 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_5 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_6 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.message_key_7 FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('message_key is not truncated; a partition is detached');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.outbound_message FOR EACH ROW WHEN ((old.state <> ALL (ARRAY['delivered'::sendledger.message_state, 'failed'::sendledger.message_state, 'rejected'::sendledger.message_state, 'expired'::sendledger.message_state, 'cancelled'::sendledger.message_state, 'superseded'::sendledger.message_state]))) EXECUTE FUNCTION sendledger.refuse('a message that is not final cannot be deleted');
CREATE TRIGGER guard_insert BEFORE INSERT ON sendledger.outbound_message FOR EACH ROW WHEN (((CURRENT_USER <> 'sendledger_import'::name) AND ((new.state <> 'pending'::sendledger.message_state) OR (new.attempt_count <> 0) OR new.conflict OR (new.submission_id IS NOT NULL) OR (new.provider_txn_id IS NOT NULL) OR (new.provider_message_id IS NOT NULL) OR (new.provider_campaign_id IS NOT NULL) OR (new.provider_status_code IS NOT NULL) OR (new.provider_cause IS NOT NULL) OR (new.cost IS NOT NULL) OR (new.cost_source IS NOT NULL) OR (new.quoted_cost IS NOT NULL) OR (new.claimed_at IS NOT NULL) OR (new.requested_at IS NOT NULL) OR (new.submitted_at IS NOT NULL) OR (new.delivered_at IS NOT NULL) OR (new.reconciled_at IS NOT NULL) OR (new.billed_after_close_at IS NOT NULL) OR (new.receipt_by IS NOT NULL) OR (new.correlation_result IS NOT NULL) OR (new.correlation_window_ms IS NOT NULL)))) EXECUTE FUNCTION sendledger.refuse('a message is inserted pending and without a past; imports run as sendledger_import');
CREATE TRIGGER guard_submission AFTER UPDATE ON sendledger.outbound_message REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION sendledger.check_submission_moves();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.outbound_message FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('messages are not truncated; a month is detached');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.outbound_message FOR EACH ROW WHEN ((((old.state IS DISTINCT FROM new.state) AND (NOT (((old.state = 'pending'::sendledger.message_state) AND (new.state = ANY (ARRAY['claimed'::sendledger.message_state, 'expired'::sendledger.message_state, 'cancelled'::sendledger.message_state]))) OR ((old.state = 'claimed'::sendledger.message_state) AND (new.state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state, 'submitted'::sendledger.message_state, 'rejected'::sendledger.message_state, 'unknown'::sendledger.message_state]))) OR ((old.state = 'retry'::sendledger.message_state) AND (new.state = ANY (ARRAY['claimed'::sendledger.message_state, 'expired'::sendledger.message_state, 'cancelled'::sendledger.message_state]))) OR ((old.state = 'submitted'::sendledger.message_state) AND (new.state = ANY (ARRAY['delivered'::sendledger.message_state, 'failed'::sendledger.message_state, 'expired'::sendledger.message_state]))) OR ((old.state = 'unknown'::sendledger.message_state) AND (new.state = ANY (ARRAY['submitted'::sendledger.message_state, 'failed'::sendledger.message_state])))))) OR (((new.state_reason IS NULL) OR (NOT (new.state_reason IS DISTINCT FROM old.state_reason))) AND ((old.state = 'unknown'::sendledger.message_state) AND (new.state = 'failed'::sendledger.message_state))) OR (((((((((old.id IS DISTINCT FROM new.id) OR (old.created_at IS DISTINCT FROM new.created_at)) OR (old.tenant_id IS DISTINCT FROM new.tenant_id)) OR (old.business_key IS DISTINCT FROM new.business_key)) OR (old.attempt_key IS DISTINCT FROM new.attempt_key)) OR (old.event_type IS DISTINCT FROM new.event_type)) OR (old.event_id IS DISTINCT FROM new.event_id)) OR (old.replaces_id IS DISTINCT FROM new.replaces_id)) OR (old.replaces_created_at IS DISTINCT FROM new.replaces_created_at)) OR (((old.claimed_at IS NOT NULL) OR (old.state <> ALL (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]))) AND (((((((((((((old.recipient IS DISTINCT FROM new.recipient) OR (old.country IS DISTINCT FROM new.country)) OR (old.channel IS DISTINCT FROM new.channel)) OR (old.message_class IS DISTINCT FROM new.message_class)) OR (old.sender_id IS DISTINCT FROM new.sender_id)) OR (old.body IS DISTINCT FROM new.body)) OR (old.encoding IS DISTINCT FROM new.encoding)) OR (old.segments IS DISTINCT FROM new.segments)) OR (old.template_id IS DISTINCT FROM new.template_id)) OR (old.template_version IS DISTINCT FROM new.template_version)) OR (old.template_params IS DISTINCT FROM new.template_params)) OR ((old.dlt_entity_id)::text IS DISTINCT FROM (new.dlt_entity_id)::text)) OR ((old.dlt_template_id)::text IS DISTINCT FROM (new.dlt_template_id)::text)) AND (NOT ((old.state = ANY (ARRAY['delivered'::sendledger.message_state, 'failed'::sendledger.message_state, 'rejected'::sendledger.message_state, 'expired'::sendledger.message_state, 'cancelled'::sendledger.message_state, 'superseded'::sendledger.message_state])) AND (CURRENT_USER = 'sendledger_owner'::name)))) OR ((old.claimed_at IS NOT NULL) AND (new.claimed_at IS NULL)) OR (((old.submission_id IS DISTINCT FROM new.submission_id) OR (old.submission_created_at IS DISTINCT FROM new.submission_created_at)) AND (NOT ((old.state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state])) AND (new.state = 'claimed'::sendledger.message_state) AND (new.submission_id IS NOT NULL))) AND (NOT ((old.state = 'claimed'::sendledger.message_state) AND (new.state = 'pending'::sendledger.message_state) AND (new.submission_id IS NULL)))) OR (((old.route_id IS DISTINCT FROM new.route_id) OR (old.provider IS DISTINCT FROM new.provider)) AND (old.state <> ALL (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]))) OR ((((old.quoted_units IS DISTINCT FROM new.quoted_units) OR (old.quoted_cost IS DISTINCT FROM new.quoted_cost)) OR (old.quoted_currency IS DISTINCT FROM new.quoted_currency)) AND (NOT ((new.state = 'claimed'::sendledger.message_state) AND (old.state = ANY (ARRAY['pending'::sendledger.message_state, 'retry'::sendledger.message_state]))))) OR ((old.cost IS NOT NULL) AND ((((old.cost IS DISTINCT FROM new.cost) OR (old.billable_units IS DISTINCT FROM new.billable_units)) OR (old.cost_currency IS DISTINCT FROM new.cost_currency)) OR (old.cost_source IS DISTINCT FROM new.cost_source))) OR ((old.cost_source IS DISTINCT FROM new.cost_source) AND (new.cost_source = ANY (ARRAY['imported'::sendledger.cost_source, 'recovered'::sendledger.cost_source])) AND (CURRENT_USER <> 'sendledger_import'::name)) OR ((old.requested_at IS NOT NULL) AND (old.requested_at IS DISTINCT FROM new.requested_at) AND (old.state <> 'claimed'::sendledger.message_state)) OR (((old.provider_txn_id IS NOT NULL) AND ((new.provider_txn_id)::text IS DISTINCT FROM (old.provider_txn_id)::text)) OR ((old.provider_message_id IS NOT NULL) AND ((new.provider_message_id)::text IS DISTINCT FROM (old.provider_message_id)::text)) OR ((old.provider_campaign_id IS NOT NULL) AND ((new.provider_campaign_id)::text IS DISTINCT FROM (old.provider_campaign_id)::text)) OR ((old.submitted_at IS NOT NULL) AND (new.submitted_at IS DISTINCT FROM old.submitted_at)) OR ((old.delivered_at IS NOT NULL) AND (new.delivered_at IS DISTINCT FROM old.delivered_at)) OR ((old.billed_after_close_at IS NOT NULL) AND (new.billed_after_close_at IS DISTINCT FROM old.billed_after_close_at))) OR ((new.attempt_count < old.attempt_count) OR (new.attempt_count > (old.attempt_count + 1))))) EXECUTE FUNCTION sendledger.refuse_message_update();
CREATE TRIGGER guard_submission AFTER UPDATE ON sendledger.outbound_message_default REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION sendledger.check_submission_moves();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.outbound_message_default FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('outbound_message is not truncated; a partition is detached');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.provider_message FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('the owner of a provider message id is never forgotten');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.provider_message FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('the owner of a provider message id is never forgotten');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.provider_message FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('the owner of a provider message id is never overwritten');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.review_item FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('a review item is resolved and not deleted');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.review_item FOR EACH ROW WHEN (((old.resolved_at IS NOT NULL) OR (((((((((old.id IS DISTINCT FROM new.id) OR (old.kind IS DISTINCT FROM new.kind)) OR (old.subject IS DISTINCT FROM new.subject)) OR (old.route_id IS DISTINCT FROM new.route_id)) OR (old.message_id IS DISTINCT FROM new.message_id)) OR (old.message_created_at IS DISTINCT FROM new.message_created_at)) OR (old.submission_id IS DISTINCT FROM new.submission_id)) OR (old.submission_created_at IS DISTINCT FROM new.submission_created_at)) OR (old.opened_at IS DISTINCT FROM new.opened_at)))) EXECUTE FUNCTION sendledger.refuse('a review item is decided once, and what it is about does not change');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.schedule_change FOR EACH ROW EXECUTE FUNCTION sendledger.refuse('what was asked of a provider is not deleted');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.schedule_change FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('what was asked of a provider is not deleted');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.schedule_change FOR EACH ROW WHEN (((old.ended_at IS NOT NULL) OR ((((((((((old.id IS DISTINCT FROM new.id) OR (old.tenant_id IS DISTINCT FROM new.tenant_id)) OR (old.route_id IS DISTINCT FROM new.route_id)) OR (old.submission_id IS DISTINCT FROM new.submission_id)) OR (old.submission_created_at IS DISTINCT FROM new.submission_created_at)) OR ((old.provider_txn_id)::text IS DISTINCT FROM (new.provider_txn_id)::text)) OR (old.kind IS DISTINCT FROM new.kind)) OR (old.requested_by IS DISTINCT FROM new.requested_by)) OR (old.reason IS DISTINCT FROM new.reason)) OR (old.created_at IS DISTINCT FROM new.created_at)))) EXECUTE FUNCTION sendledger.refuse('what was asked of a provider does not change, and ends once');
CREATE TRIGGER guard_delete BEFORE DELETE ON sendledger.submission FOR EACH ROW WHEN ((old.state = ANY (ARRAY['open'::sendledger.submission_state, 'marked'::sendledger.submission_state, 'ambiguous'::sendledger.submission_state]))) EXECUTE FUNCTION sendledger.refuse('a submission whose outcome is open cannot be deleted');
CREATE TRIGGER guard_insert BEFORE INSERT ON sendledger.submission FOR EACH ROW WHEN (((CURRENT_USER <> 'sendledger_import'::name) AND ((new.state <> 'open'::sendledger.submission_state) OR (new.requested_at IS NOT NULL) OR (new.responded_at IS NOT NULL) OR (new.provider_txn_id IS NOT NULL) OR (new.provider_status_code IS NOT NULL) OR (new.http_status IS NOT NULL) OR (new.outcome_reason IS NOT NULL) OR (new.outcome_proof IS NOT NULL) OR (new.raw_reply IS NOT NULL) OR (new.poll_at IS NOT NULL) OR (new.polls <> 0)))) EXECUTE FUNCTION sendledger.refuse('a submission is inserted open and without a past');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.submission FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('submissions are not truncated; a month is detached');
CREATE TRIGGER guard_update BEFORE UPDATE ON sendledger.submission FOR EACH ROW WHEN ((((old.state IS DISTINCT FROM new.state) AND (NOT (((old.state = 'open'::sendledger.submission_state) AND (new.state = ANY (ARRAY['marked'::sendledger.submission_state, 'released'::sendledger.submission_state]))) OR ((old.state = 'marked'::sendledger.submission_state) AND (new.state = ANY (ARRAY['accepted'::sendledger.submission_state, 'refused'::sendledger.submission_state, 'not_sent'::sendledger.submission_state, 'ambiguous'::sendledger.submission_state]))) OR ((old.state = 'ambiguous'::sendledger.submission_state) AND (new.state = ANY (ARRAY['accepted'::sendledger.submission_state, 'refused'::sendledger.submission_state, 'not_sent'::sendledger.submission_state])))))) OR (((((((((old.id IS DISTINCT FROM new.id) OR (old.created_at IS DISTINCT FROM new.created_at)) OR (old.route_id IS DISTINCT FROM new.route_id)) OR (old.message_class IS DISTINCT FROM new.message_class)) OR (old.size IS DISTINCT FROM new.size)) OR (old.epoch_no IS DISTINCT FROM new.epoch_no)) OR (old.not_after IS DISTINCT FROM new.not_after)) OR (old.claimed_by IS DISTINCT FROM new.claimed_by)) OR (old.is_probe IS DISTINCT FROM new.is_probe)) OR (((((old.requested_at IS DISTINCT FROM new.requested_at) OR (old.lease_token IS DISTINCT FROM new.lease_token)) OR (old.marked_by IS DISTINCT FROM new.marked_by)) OR (old.lease_until IS DISTINCT FROM new.lease_until)) AND (NOT ((old.state = 'open'::sendledger.submission_state) AND (new.state = 'marked'::sendledger.submission_state)))) OR ((old.state = ANY (ARRAY['marked'::sendledger.submission_state, 'ambiguous'::sendledger.submission_state])) AND (new.state IS DISTINCT FROM old.state) AND ((new.responded_at IS NULL) OR (new.outcome_reason IS NULL) OR (NOT (new.responded_at IS DISTINCT FROM old.responded_at)))) OR ((old.provider_txn_id IS NOT NULL) AND ((new.provider_txn_id)::text IS DISTINCT FROM (old.provider_txn_id)::text)) OR ((old.raw_reply IS NOT NULL) AND (new.raw_reply IS DISTINCT FROM old.raw_reply)) OR (((old.state <> ALL (ARRAY['marked'::sendledger.submission_state, 'ambiguous'::sendledger.submission_state])) OR (old.state = new.state)) AND (((((old.responded_at IS DISTINCT FROM new.responded_at) OR (old.outcome_reason IS DISTINCT FROM new.outcome_reason)) OR (old.outcome_proof IS DISTINCT FROM new.outcome_proof)) OR (old.provider_status_code IS DISTINCT FROM new.provider_status_code)) OR (old.http_status IS DISTINCT FROM new.http_status))))) EXECUTE FUNCTION sendledger.refuse('a fact of a submission is set once, and its state moves forward only');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON sendledger.submission_default FOR EACH STATEMENT EXECUTE FUNCTION sendledger.refuse('submission is not truncated; a partition is detached');

-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.ask_cancel_held(p_tenant text, p_cancellation bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
declare
  c sendledger.cancellation;
  asked bigint[];
begin
  select x.* into c from sendledger.cancellation x where x.id = p_cancellation and x.tenant_id = p_tenant;
  with held as materialized (
    select distinct m.submission_id, m.submission_created_at
    from sendledger.outbound_message m
    where m.tenant_id = p_tenant and m.held_by = 'provider' and m.state = 'submitted' and m.scheduled_for > clock_timestamp()
      and (c.kind <> 'message' or m.id = c.message_id) and (c.kind <> 'campaign' or m.campaign_id = c.campaign_id)
      and (c.kind <> 'event' or (m.event_id = c.event_id and m.event_type = c.event_type)) and (c.kind <> 'key' or m.business_key = c.business_key)
      and sendledger.is_cancelled(m)
  ), whole as materialized (
    select h.submission_id, h.submission_created_at, min(m.scheduled_for) as scheduled_for, array_agg(m.id) as messages,
      min(m.route_id) as route_id, min(m.provider_txn_id::text) as txn
    from held h
    join sendledger.outbound_message m on m.submission_id = h.submission_id and m.state in ('submitted', 'unknown')
    group by 1, 2
    having bool_and(m.state = 'submitted' and sendledger.is_cancelled(m)) and min(m.provider_txn_id::text) is not null
  ), written as (
    insert into sendledger.schedule_change (tenant_id, route_id, submission_id, submission_created_at, provider_txn_id, kind, scheduled_for, requested_by, reason)
    select p_tenant, w.route_id, w.submission_id, w.submission_created_at, w.txn, 'cancel', w.scheduled_for, c.requested_by, c.reason
    from whole w
    on conflict do nothing
  )
  select array_agg(u.id) into asked from whole w cross join lateral unnest(w.messages) as u(id);
  return coalesce(asked, '{}');
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.attempt_key_of(p_id bigint, p_random uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select encode(set_bit(set_bit(overlay(uuid_send(p_random) placing substring(int8send(p_id) from 3) from 1 for 6), 54, 0), 55, 1), 'hex')::uuid
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.business_key(p_tenant text, p_event_type text, p_event_id text, p_recipient text, p_template text, p_version text, p_step text, p_bucket text)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select encode(sha256(convert_to('sendledger.key.1'
    || sendledger.key_part(p_tenant) || sendledger.key_part(p_event_type) || sendledger.key_part(p_event_id)
    || sendledger.key_part(p_recipient) || sendledger.key_part(p_template) || sendledger.key_part(p_version)
    || sendledger.key_part(p_step) || sendledger.key_part(p_bucket), 'UTF8')), 'hex')
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.can_be_read(p_message json)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform p_message::jsonb;
  return true;
exception when data_exception or program_limit_exceeded then
  return false;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.cancel_answer(p_tenant text, p_cancellation bigint, p_list integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  c sendledger.cancellation;
begin
  select x.* into c from sendledger.cancellation x where x.id = p_cancellation and x.tenant_id = p_tenant;
  return (
    with r as materialized (
      select x.*, sendledger.cancel_outcome(x) as outcome from sendledger.covered_messages(c, 0, null, false, 'infinity') x
    )
    select jsonb_build_object(
      'answered_at', clock_timestamp(),
      'counts', (select coalesce(jsonb_object_agg(n.outcome, n.n), '{}') from (select r.outcome, count(*) as n from r group by 1) n),
      'rows', (select coalesce(jsonb_agg(jsonb_build_object('id', l.message_id::text, 'created_at', l.message_created_at, 'outcome', l.outcome,
          'held_until', case when l.state = 'submitted' and l.scheduled_for > clock_timestamp() then l.scheduled_for end) order by l.outcome desc, l.message_id), '[]')
        from (select * from r order by r.outcome desc, r.message_id limit p_list) l)));
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.cancel_outcome(r sendledger.covered_message)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
  select case
    when r.state in ('cancelled', 'pending', 'retry') or (r.state = 'claimed' and r.submission_open) then 'cancelled'
    when r.state = 'unknown' then 'unknown'
    else 'too_late' end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.cancel_preview(p_tenant text, p_kind text, p_message_id bigint, p_business_key text, p_event_type text, p_event_id text, p_campaign_id text, p_class sendledger.message_class, p_covers_until timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  c sendledger.cancellation;
begin
  c.tenant_id := p_tenant; c.kind := p_kind; c.message_id := p_message_id; c.business_key := p_business_key; c.event_type := p_event_type;
  c.event_id := p_event_id; c.campaign_id := p_campaign_id; c.message_class := p_class; c.created_at := now();
  c.covers_until := case p_kind when 'campaign' then p_covers_until when 'tenant' then coalesce(p_covers_until, clock_timestamp()) end;
  return (
    select coalesce(jsonb_object_agg(n.outcome, n.n), '{}')
    from (
      select sendledger.cancel_outcome(x) as outcome, count(*) as n
      from (
        select * from sendledger.covered_messages(c, 0, null, false, 'infinity')
        union all
        select * from sendledger.covered_messages(c, 0, null, true, 'infinity') where p_kind = 'tenant'
      ) x group by 1
    ) n);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.cancel_step(p_tenant text, p_cancellation bigint, p_until timestamp with time zone, p_after bigint, p_limit integer, p_wait boolean)
 RETURNS sendledger.cancel_progress
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  c sendledger.cancellation;
  p sendledger.cancel_progress;
  waiting bigint[];
  w_from timestamptz;
  w_to timestamptz;
  held bigint[];
  h_from timestamptz;
  h_to timestamptz;
  given_back bigint[];
begin
  select x.* into c from sendledger.cancellation x where x.id = p_cancellation and x.tenant_id = p_tenant;
  -- A tenant's have no order to go on in; what was done is not found again.
  select count(*), case when c.kind = 'tenant' then 0 else max(r.message_id) end,
    array_agg(r.message_id order by r.message_id) filter (where r.state <> 'claimed'),
    min(r.message_created_at) filter (where r.state <> 'claimed'), max(r.message_created_at) filter (where r.state <> 'claimed'),
    array_agg(distinct r.submission_id) filter (where r.state = 'claimed'),
    min(r.submission_created_at) filter (where r.state = 'claimed'), max(r.submission_created_at) filter (where r.state = 'claimed')
  into p.found, p.last, waiting, w_from, w_to, held, h_from, h_to
  from sendledger.covered_messages(c, p_after, p_limit, true, p_until) r;
  p.released := 0;
  if p.found = 0 then
    return p;
  end if;

  if held is not null then
    with locked as materialized (
      select s.id from sendledger.submission s
      where s.id = any (held) and s.created_at >= h_from and s.created_at <= h_to and s.state::text = 'open'
      order by s.id
      for update
    ), closed as (
      update sendledger.submission s set state = 'released'
      where s.id = any (array(select l.id from locked l)) and s.created_at >= h_from and s.created_at <= h_to and s.state::text = 'open'
      returning s.id, s.route_id, s.message_class
    )
    select array_agg(x.id), array_agg(distinct x.route_id::text || '.' || x.message_class) into given_back, p.lanes from closed x;
    update sendledger.outbound_message m
    set state = 'pending', submission_id = null, submission_created_at = null, updated_at = now()
    where m.submission_id = any (given_back) and m.state = 'claimed';
    get diagnostics p.released = row_count;
    -- The same page again: what was given back waits now.
    p.last := p_after;
    return p;
  end if;

  if p_wait then
    waiting := waiting[1:1];
    with done as (
      update sendledger.outbound_message m set state = 'cancelled', state_reason = 'cancelled', updated_at = now()
      where m.id = waiting[1] and m.created_at >= w_from and m.created_at <= w_to and m.state::text in ('pending', 'retry')
      returning m.id, m.created_at
    )
    select array_agg(d.id), array_agg(d.created_at) into p.message_ids, p.message_created_at from done d;
    p.last := p_after;
    return p;
  end if;

  with free as materialized (
    select m.id from sendledger.outbound_message m
    where m.id = any (waiting) and m.created_at >= w_from and m.created_at <= w_to and m.state::text in ('pending', 'retry')
    order by m.id
    for update skip locked
  ), done as (
    update sendledger.outbound_message m set state = 'cancelled', state_reason = 'cancelled', updated_at = now()
    where m.id = any (array(select f.id from free f)) and m.created_at >= w_from and m.created_at <= w_to and m.state::text in ('pending', 'retry')
    returning m.id, m.created_at
  )
  select array_agg(d.id), array_agg(d.created_at) into p.message_ids, p.message_created_at from done d;
  return p;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.check_submission_moves()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET jit TO 'off'
AS $function$
declare
  bad record;
  entered bigint;
  filled bigint[];
begin
  with moved as materialized (
    select n.id, o.state as was, n.state as becomes, n.route_id, n.message_class,
           case when n.state = 'claimed' then n.submission_id else o.submission_id end as submission_id,
           case when n.state = 'claimed' then n.submission_created_at else o.submission_created_at end as submission_created_at
    from old_rows o join new_rows n on n.id = o.id
    where o.state is distinct from n.state and (o.state = 'claimed' or n.state = 'claimed')
  ), s as materialized (
    select s.id, s.created_at, s.state, s.size, s.route_id, s.message_class
    from sendledger.submission s
    where s.id = any (array(select m.submission_id from moved m))
      and s.created_at >= (select min(m.submission_created_at) from moved m)
      and s.created_at <= (select max(m.submission_created_at) from moved m)
    for no key update
  ), filled as (
    select m.submission_id, count(*) as messages from moved m where m.becomes = 'claimed' group by 1
  )
  select m.id, m.was, m.becomes, m.submission_id, s.state as submission_state,
         (m.becomes = 'claimed' and s.state = 'open') as misfit
  into bad
  from moved m
  left join s on s.id = m.submission_id and s.created_at = m.submission_created_at
  left join filled f on f.submission_id = m.submission_id and m.becomes = 'claimed'
  where s.id is null
     or not (
        (m.was = 'pending' and m.becomes = 'claimed' and s.state in ('open'))
        or (m.was = 'claimed' and m.becomes = 'pending' and s.state in ('released'))
        or (m.was = 'claimed' and m.becomes = 'retry' and s.state in ('refused', 'not_sent'))
        or (m.was = 'claimed' and m.becomes = 'submitted' and s.state in ('accepted'))
        or (m.was = 'claimed' and m.becomes = 'rejected' and s.state in ('accepted', 'refused'))
        or (m.was = 'claimed' and m.becomes = 'unknown' and s.state in ('accepted', 'ambiguous'))
        or (m.was = 'retry' and m.becomes = 'claimed' and s.state in ('open')))
     -- A submission is filled by one statement, with rows of its own lane, exactly to its size.
     or (m.becomes = 'claimed' and (f.messages <> s.size or m.route_id <> s.route_id or m.message_class <> s.message_class))
  limit 1;
  if found then
    raise exception using errcode = '23514', constraint = 'guard: submission',
      message = case when bad.misfit
        then format('outbound_message %s does not fit submission %s: other lane, or not filled to its size', bad.id, bad.submission_id)
        else format('illegal transition %s -> %s on outbound_message %s: its submission %s is %s', bad.was, bad.becomes,
          bad.id, bad.submission_id, coalesce(bad.submission_state::text, 'absent')) end;
  end if;

  -- Filled once: what another statement claimed into the same submission before counts too. Each one was filled to its
  -- size just now, so the sum is enough. The lock above makes two that fill it at the same time come here one after the
  -- other, and this statement sees what the first committed.
  select count(*), array_agg(distinct n.submission_id) into entered, filled
  from old_rows o join new_rows n on n.id = o.id
  where o.state <> 'claimed' and n.state = 'claimed';
  if entered > 0 and entered <> (
    select count(*) from sendledger.outbound_message m
    where m.submission_id = any (filled) and m.state in ('claimed', 'submitted', 'unknown')
  ) then
    raise exception using errcode = '23514', constraint = 'guard: submission',
      message = 'a submission is filled once, and one of this statement was filled before';
  end if;
  return null;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.covered_messages(c sendledger.cancellation, p_after bigint, p_limit integer, p_open boolean, p_until timestamp with time zone)
 RETURNS SETOF sendledger.covered_message
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  if c.kind = 'message' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.outbound_message m
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where m.id = any (array(
        with recursive line as (
          select o.id, o.created_at, o.asked_again_at from sendledger.outbound_message o where o.id = c.message_id
          union all
          select o.id, o.created_at, o.asked_again_at from line l join sendledger.outbound_message o on o.replaces_id = l.id
          where o.asked_again_at is null or o.asked_again_at <= c.created_at
        ) select line.id from line))
      and m.tenant_id = c.tenant_id and m.id > p_after and m.created_at <= p_until
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    order by m.id limit p_limit;
  elsif c.kind = 'key' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.business_key = c.business_key and k.message_id > p_after and m.created_at <= p_until
      and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    limit p_limit;
  elsif c.kind = 'event' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.event_id = c.event_id and k.message_id > p_after and m.created_at <= p_until
      and m.event_type = c.event_type and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    order by k.message_id limit p_limit;
  elsif c.kind = 'campaign' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.campaign_id = c.campaign_id and k.message_id > p_after and m.created_at <= p_until
      and (c.covers_until is null or m.created_at <= c.covers_until) and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    order by k.message_id limit p_limit;
  elsif p_open then
    return query
    select w.* from (
      select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, null::bigint, null::timestamptz, null::boolean
      from sendledger.outbound_message m
      where m.state in ('pending', 'retry') and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until)
        and (c.message_class is null or m.message_class = c.message_class) and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
      union all
      select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, true
      from sendledger.submission s
      join sendledger.outbound_message m on m.submission_id = s.id and m.submission_created_at = s.created_at and m.state = 'claimed'
      where s.state = 'open' and (c.message_class is null or s.message_class = c.message_class)
        and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until) and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
    ) w
    limit p_limit;
  else
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, false
    from sendledger.submission s
    join sendledger.outbound_message m on m.submission_id = s.id and m.submission_created_at = s.created_at and m.state = 'claimed'
    where s.state = 'marked' and (c.message_class is null or s.message_class = c.message_class)
      and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until) and (m.asked_again_at is null or m.asked_again_at <= c.created_at)
    union all
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, null::bigint, null::timestamptz, false
    from sendledger.outbound_message m
    where m.state = 'unknown' and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until)
      and (c.message_class is null or m.message_class = c.message_class) and (m.asked_again_at is null or m.asked_again_at <= c.created_at);
  end if;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.create_month(p_month date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  first_day date := date_trunc('month', p_month)::date;
  next_month date := (first_day + interval '1 month')::date;
  suffix text := to_char(first_day, 'YYYY_MM');
  parent text;
  leaf text;
  lower_bound text;
  upper_bound text;
begin
  -- Two upkeepers at once: the second waits, then finds the month there.
  perform pg_advisory_xact_lock(hashtext('sendledger.create_month'));
  foreach parent in array array['outbound_message', 'submission', 'delivery_receipt'] loop
    leaf := parent || '_' || suffix;
    continue when to_regclass('sendledger.' || leaf) is not null;
    if parent = 'delivery_receipt' then
      lower_bound := first_day::text; upper_bound := next_month::text;
    else
      lower_bound := first_day::text || ' 00:00:00+00'; upper_bound := next_month::text || ' 00:00:00+00';
    end if;
    -- Made apart and attached: CREATE TABLE … PARTITION OF would take an exclusive lock on the parent.
    execute format('create table sendledger.%I (like sendledger.%I including defaults including constraints including storage)', leaf, parent);
    execute format(
      'alter table sendledger.%I set (fillfactor = %s, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)',
      leaf, case parent when 'submission' then 70 else 100 end);
    execute format('alter table sendledger.%I attach partition sendledger.%I for values from (%L) to (%L)', parent, leaf, lower_bound, upper_bound);
    perform sendledger.guard_partition(parent, leaf);
  end loop;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.due_in_window(p_at timestamp with time zone, p_opens time without time zone, p_closes time without time zone, p_zone text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  opens timestamptz;
begin
  if p_zone is null or p_at is null then
    return p_at;
  end if;
  select w.opens_at into opens from sendledger.window_at(p_at, p_opens, p_closes, p_zone) w;
  return greatest(p_at, opens);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.enqueue(p_messages json)
 RETURNS SETOF sendledger.enqueue_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  elements json[];
  kept text[] := '{}';
  ords integer[] := '{}';
  answers sendledger.enqueue_answer[] := '{}';
  a sendledger.enqueue_answer;
  element record;
begin
  if p_messages is null or json_typeof(p_messages) <> 'array' then
    a.ord := 1; a.answer := 'invalid'; a.field := 'messages'; a.reason := 'a JSON array of messages is needed';
    return next a;
    return;
  end if;
  begin
    return query select * from sendledger.enqueue_set(p_messages, null);
    return;
  exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
    null;
  end;
  begin
    select coalesce(array_agg(e.value order by e.ord), '{}') into elements
    from json_array_elements(p_messages) with ordinality as e(value, ord);
  exception when program_limit_exceeded then
    a.ord := 1; a.answer := 'invalid'; a.field := 'messages'; a.reason := 'nested too deeply';
    return next a;
    return;
  end;
  for i in 1..cardinality(elements) loop
    if json_typeof(elements[i]) <> 'object' then
      a := null;
      a.ord := i; a.answer := 'invalid'; a.field := 'message'; a.reason := 'a JSON object is needed';
      answers := answers || a;
    elsif sendledger.can_be_read(elements[i]) then
      kept := kept || elements[i]::text;
      ords := ords || i;
    else
      a := null;
      a.ord := i; a.answer := 'invalid'; a.field := 'message'; a.reason := 'it holds what the database cannot store';
      answers := answers || a;
    end if;
  end loop;
  begin
    return query select * from (
      select * from sendledger.enqueue_set(('[' || array_to_string(kept, ',') || ']')::json, ords)
      union all select * from unnest(answers)) both_kinds order by 1;
    return;
  exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
    null;
  end;
  -- Something that no check here knows. One by one, in the order of the texts, so that two such calls at least agree.
  for element in
    select k.value, k.ord from unnest(kept, ords) as k(value, ord) order by k.value
  loop
    begin
      select * into a from sendledger.enqueue_set(('[' || element.value || ']')::json, array[element.ord]);
    exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
      a := null;
      a.ord := element.ord; a.answer := 'invalid'; a.field := 'message'; a.reason := 'the database cannot store it (' || sqlstate || ')';
    end;
    answers := answers || a;
  end loop;
  return query select * from unnest(answers) order by 1;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.enqueue_all(p_messages json)
 RETURNS SETOF sendledger.enqueue_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  answers sendledger.enqueue_answer[];
begin
  begin
    select array_agg(e) into answers from sendledger.enqueue(p_messages) e;
    if exists (select from unnest(answers) a where a.answer not in ('created', 'duplicate')) then
      raise exception using errcode = 'SL000';
    end if;
  exception when sqlstate 'SL000' then
    null;
  end;
  return query select * from unnest(answers);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.enqueue_set(p_messages json, p_ords integer[])
 RETURNS SETOF sendledger.enqueue_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  at_now constant timestamptz := date_trunc('milliseconds', now());
  at_text constant text := sendledger.iso_text(at_now);
  steps sendledger.enqueue_step[];
  answers sendledger.enqueue_answer[];
  taken boolean;
  codes bigint[];
  winner record;
  a sendledger.enqueue_answer;
begin
    -- No key of a message can be `fallback` where neither the word nor an escape is in the text.
    if strpos(p_messages::text, 'fallback') > 0 or strpos(p_messages::text, '\u') > 0 then
      select array_agg(s) into steps from sendledger.judge_steps(p_messages, p_ords) s;
    end if;

    with given as materialized (
      select coalesce(p_ords[i.n], i.n::integer) as ord, i.*
      from rows from (json_to_recordset(p_messages) as (
        tenant_id text, channel text, message_class text, recipient text, country text, sender_id text,
        event_type text, event_id text, event_version text,
        key_template text, key_version text, key_step text, key_bucket text,
        body text, encoding text, segments text, ascii_encoding text, ascii_segments text,
        dlt_entity_id text, dlt_template_id text, template_id text, template_version text, template_params json,
        route text, scheduled_for text, scheduled_tz text, held_by text, submit_by text, campaign_id text, on_proven_absent text, fallback json))
      with ordinality as i(tenant_id, channel, message_class, recipient, country, sender_id, event_type, event_id, event_version,
        key_template, key_version, key_step, key_bucket, body, encoding, segments, ascii_encoding, ascii_segments,
        dlt_entity_id, dlt_template_id, template_id, template_version, template_params,
        route, scheduled_for, scheduled_tz, held_by, submit_by, campaign_id, on_proven_absent, fallback, n)
    ), chosen as (
      select w.*, r.id as route_id, r.provider, r.encoding_rule, r.default_sender_id, r.sender_required, r.national_digits, l.submit_within, l.route_id is not null as has_lane,
        r.provider_zone, r.schedule_lead, l.window_opens, l.window_closes, l.window_zone,
        sendledger.due_in_window(at_now, l.window_opens, l.window_closes, l.window_zone) as due_now,
        coalesce((select w.message_class = any (t.allowed_classes::text[]) from sendledger.tenant t where t.tenant_id = w.tenant_id), true) as allowed
      from (
        select d.*, sendledger.route_for(d.tenant_id, d.channel, d.message_class, d.route) as picked
        from (select distinct g.tenant_id, g.channel, g.message_class, g.route from given g) d offset 0
      ) w
      left join sendledger.route r on r.id = w.picked
      left join sendledger.lane l on l.route_id = r.id and l.message_class::text = w.message_class
    ), judged as materialized (
      select x.*,
        case when x.problem is null then sendledger.business_key(x.tenant_id, x.event_type, x.event_id, x.recipient,
          x.key_template, x.key_version, x.key_step, x.key_bucket) end as business_key,
        case when x.problem is null then sha256(convert_to('sendledger.content.1' || sendledger.key_part(x.message_class)
          || sendledger.key_part(x.body) || sendledger.key_part(x.template_id) || sendledger.key_part(x.template_version), 'UTF8')) end as content_hash,
        case when x.problem is null then nextval('sendledger.message_id_seq') end as mid,
        case when x.problem is null then gen_random_uuid() end as attempt_key
      from (
        select x.ord, x.tenant_id, x.channel, x.message_class, x.recipient, x.country, x.sender, x.event_type, x.event_id, x.event_version,
          x.key_template, x.key_version, x.key_step, x.key_bucket, x.body, x.bill_encoding, x.bill_segments, x.dlt_entity_id, x.dlt_template_id,
          x.template_id, x.template_version, x.template_params, x.route_id, x.provider, x.scheduled_at, x.scheduled_tz, (x.schedule).utc_offset_s as utc_offset_s,
          x.campaign_id, x.on_proven_absent, ch.first_step,
          case when x.ahead then 'provider' else 'us' end as holder,
          case when x.ahead then at_now else x.own_due end as due,
          -- One that was said; else the template's (of a code: its life); else what the lane says.
          coalesce(x.submit_at, greatest(x.own_due, x.scheduled_at) + coalesce(
            case when x.template_id is not null then (select t.valid_for_s * interval '1 s' from sendledger.message_template t
              where t.template_id = x.template_id and t.version::text = x.template_version) end, x.submit_within)) as deadline,
          case
          when x.tenant_id is null or x.tenant_id = '' or octet_length(x.tenant_id) > 200 then 'tenant_id:required, 1 to 200 octets'
          when x.channel is null or x.channel not in ('sms', 'whatsapp', 'voice', 'rcs', 'telegram') then 'channel:not a channel'
          when x.message_class is null or x.message_class not in ('otp', 'transactional', 'promotional') then 'message_class:not a class'
          when x.recipient is null or x.recipient = '' or octet_length(x.recipient) > 200 then 'recipient:required, 1 to 200 octets'
          when x.channel in ('sms', 'whatsapp', 'voice') and x.recipient !~ '^[1-9][0-9]{6,14}$' then 'recipient:not an E.164 number in digits, without plus'
          when x.country is not null and x.country !~ '^[A-Z]{2}$' then 'country:not an ISO 3166 code'
          when x.event_type is null or x.event_type = '' or octet_length(x.event_type) > 200 then 'event_type:required, 1 to 200 octets'
          when x.event_id is null or x.event_id = '' or octet_length(x.event_id) > 200 then 'event_id:required, 1 to 200 octets'
          when octet_length(x.key_template) > 200 or octet_length(x.key_version) > 200 or octet_length(x.key_step) > 200 or octet_length(x.key_bucket) > 200 then 'key:a part is over 200 octets'
          when x.event_version is not null and octet_length(x.event_version) > 200 then 'event_version:over 200 octets'
          when x.body is null or x.body = '' then 'body:required'
          when octet_length(x.body) > 16384 then 'body:over 16384 octets'
          when x.channel = 'sms' and x.sender_id is not null and x.sender_id !~ '^([A-Za-z0-9 ._-]{1,11}|[0-9]{1,15})$' then 'sender_id:1 to 11 letters and digits, or up to 15 digits'
          when x.dlt_entity_id in ('', '0', 'null', 'NULL', '-') then 'dlt_entity_id:a placeholder is not an id'
          when x.dlt_template_id in ('', '0', 'null', 'NULL', '-') then 'dlt_template_id:a placeholder is not an id'
          when x.template_version is not null and x.template_version !~ '^[1-9][0-9]{0,8}$' then 'template_version:not a whole number'
          when x.on_proven_absent is not null and x.on_proven_absent not in ('replay', 'stop') then 'on_proven_absent:replay or stop'
          when x.message_class = 'otp' and x.on_proven_absent = 'replay' then 'on_proven_absent:a one-time password is never sent again by itself'
          when not x.allowed then 'message_class:This tenant may not send this class.'
          when x.message_class = 'otp' and not coalesce((select t.message_class = 'otp' and t.channel::text = x.channel from sendledger.message_template t
            where t.template_id = x.template_id and t.version::text = x.template_version and t.retired_at is null), false)
            then 'template_id:A one-time password needs a registered template of class otp.'
          when x.route_id is null then 'route:no route of that name; or it was not named, and this channel has none or several'
          when not x.has_lane then 'route:it has no lane for this class'
          when length(x.recipient) = x.national_digits then 'recipient:the provider of this route reads a number of this length as a national one'
          when x.sender_required and x.sender is null then 'sender_id:this route needs a sender, and has no default'
          when x.bill_encoding is null or x.bill_encoding not in ('GSM7', 'UCS2') then 'encoding:GSM7 or UCS2, counted by the rule of the route'
          when x.bill_segments is null or x.bill_segments !~ '^[1-9][0-9]{0,2}$' then 'segments:a whole number from 1 to 999, counted by the rule of the route'
          when x.bill_segments::integer < ceil(length(x.body) / case x.bill_encoding when 'GSM7' then 160.0 else 70.0 end) then 'segments:fewer than the text can fit in'
          when x.channel = 'sms' and x.bill_segments::integer > 10 then 'body:over 10 segments in the encoding this route sends'
          when x.scheduled_tz is not null and sendledger.zone_or_null(x.scheduled_tz) is null then 'scheduled_tz:It is not an IANA time zone.'
          when x.scheduled_for is not null and x.scheduled_at is null then 'scheduled_for:neither an instant with offset, nor a time of day with scheduled_tz'
          when x.held_by is not null and x.held_by not in ('us', 'provider') then 'held_by:us or provider'
          when x.held_by = 'provider' and x.scheduled_at is null then 'held_by:It needs scheduledFor.'
          when x.held_by = 'provider' and x.message_class = 'otp' then 'held_by:A one-time password is not scheduled.'
          when x.held_by = 'provider' and x.schedule_lead is null then 'held_by:The provider of this route holds no schedules.'
          when x.submit_by is not null and x.submit_at is null then 'submit_by:not an instant with offset'
          when coalesce(x.submit_at, at_now + interval '1 s') <= at_now then 'submit_by:already past'
          when x.submit_at <= x.scheduled_at then 'submit_by:not after the schedule'
          when x.fallback is not null and json_typeof(x.fallback) <> 'array' then 'fallback:a list of steps'
          when x.fallback is not null and json_array_length(x.fallback) > 5 then 'fallback:at most 5 steps'
          when x.fallback is not null and x.channel = 'telegram' then 'fallback:a step reaches the same number, and this has none'
          when x.fallback is not null and x.recipient !~ '^[1-9][0-9]{6,14}$' then 'fallback:a step reaches the same number, and this is none'
          when ch.problem is not null then ch.problem
          when length(x.recipient) = any (ch.national_digits) then 'fallback:the provider of its route reads a number of this length as a national one'
        end as problem
        from (
          -- Held by the provider only what can be with it in time, at a time that its clock can say and its window allows. The rest is
          -- held by us.
          select x.*, case when x.held_by = 'provider' then x.scheduled_at > at_now + x.schedule_lead
              and sendledger.due_in_window(x.scheduled_at, x.window_opens, x.window_closes, x.window_zone) = x.scheduled_at
              and (select w.earlier = w.later from sendledger.wall_clock(x.scheduled_at at time zone x.provider_zone, x.provider_zone) w) end as ahead,
            case when x.scheduled_at > at_now then sendledger.due_in_window(x.scheduled_at, x.window_opens, x.window_closes, x.window_zone) else x.due_now end as own_due
          from (
            select x.*, (x.schedule).at as scheduled_at
            from (
              select g.*, c.route_id, c.provider, c.submit_within, c.sender_required, c.national_digits, coalesce(g.sender_id, c.default_sender_id) as sender,
                coalesce(c.has_lane, false) as has_lane,
                case when c.encoding_rule = 'ascii' then coalesce(g.ascii_encoding, case when octet_length(g.body) = length(g.body) then g.encoding end)
                  else g.encoding end as bill_encoding,
                case when c.encoding_rule = 'ascii' then coalesce(g.ascii_segments, case when octet_length(g.body) = length(g.body) then g.segments end)
                  else g.segments end as bill_segments,
                c.allowed, c.provider_zone, c.schedule_lead, c.window_opens, c.window_closes, c.window_zone, c.due_now,
                case when g.scheduled_for is not null then sendledger.read_schedule(g.scheduled_for, g.scheduled_tz) end as schedule,
                case when g.submit_by is not null then sendledger.instant_or_null(g.submit_by) end as submit_at
              from given g
              -- Whatever is null here is refused by itself.
              left join chosen c on c.tenant_id = g.tenant_id and c.channel = g.channel and c.message_class = g.message_class
                and coalesce(c.route, '') = coalesce(g.route, '') and (c.route is null) = (g.route is null)
              offset 0
            ) x
          ) x
          offset 0
        ) x
        left join (
          select s.ord, min(s.problem) as problem, min(s.step) as first_step, array_agg(distinct s.national_digits) as national_digits
          from unnest(steps) s group by s.ord
        ) ch on ch.ord = x.ord
        offset 0
      ) x
    ), won as (
      -- In the order of the keys, so that two calls with the same ones wait for each other and do not deadlock; of two equal keys of
      -- one call the first is the message.
      insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash, event_id, campaign_id)
      select g.tenant_id, g.business_key, g.mid, at_now, g.content_hash, g.event_id, g.campaign_id
      from judged g where g.problem is null order by g.tenant_id, g.business_key, g.ord
      on conflict do nothing
      returning message_id
    ), made as (
      insert into sendledger.outbound_message (
        id, created_at, updated_at, tenant_id, business_key, attempt_key, event_type, event_id, event_version, campaign_id,
        channel, message_class, recipient, country, sender_id, route_id, provider,
        body, encoding, segments, template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
        scheduled_for, scheduled_tz, scheduled_offset_s, held_by, due_at, submit_by, on_proven_absent, fallback_step, state_reason)
      select g.mid, at_now, now(), g.tenant_id, g.business_key, sendledger.attempt_key_of(g.mid, g.attempt_key), g.event_type, g.event_id, g.event_version, g.campaign_id,
        g.channel::sendledger.message_channel, g.message_class::sendledger.message_class, g.recipient, g.country, g.sender, g.route_id, g.provider,
        g.body, g.bill_encoding, g.bill_segments::smallint, g.template_id, g.template_version::integer, g.template_params::jsonb, g.dlt_entity_id, g.dlt_template_id,
        g.scheduled_at, g.scheduled_tz, g.utc_offset_s, g.holder, g.due, g.deadline,
        case when g.message_class = 'otp' then 'stop' else coalesce(g.on_proven_absent, 'replay') end,
        g.first_step,
        case when g.due > greatest(at_now, g.scheduled_at) then 'outside_window' end
      -- Asked in a CASE, the keys that were won are looked up in a hash; asked plainly, the wide rows are hashed to be joined with them.
      from judged g where case when g.mid in (select w.message_id from won w) then true else false end
    )
    -- What lost its key has no answer yet; its key stands where the ids come.
    select array_agg(case
        when n.problem is not null then row(n.ord, 'invalid', null, null, null, null, split_part(n.problem, ':', 1),
          substr(n.problem, strpos(n.problem, ':') + 1))::sendledger.enqueue_answer
        when n.made then row(n.ord, 'created', n.mid::text, at_text, sendledger.attempt_key_of(n.mid, n.attempt_key)::text,
          n.route_id::text || '.' || n.message_class, null, null)::sendledger.enqueue_answer
        else row(n.ord, null, n.business_key, null, n.tenant_id, encode(n.content_hash, 'hex'), null, null)::sendledger.enqueue_answer
      end order by n.ord),
      coalesce(bool_or(n.problem is null and not n.made), false), array_agg(n.mid order by n.ord) filter (where n.message_class = 'otp' and n.made)
    into answers, taken, codes
    from (
      select j.ord, j.problem, j.mid, j.attempt_key, j.route_id, j.message_class, j.business_key, j.tenant_id, j.content_hash,
        coalesce(j.mid in (select w.message_id from won w), false) as made
      from judged j offset 0
    ) n;

  if steps is not null then
    -- A key that was forgotten and came back may have left steps behind.
    insert into sendledger.fallback as f (tenant_id, business_key, step, channel, route_id, sender_id, body, encoding, segments,
      template_id, template_version, template_params, dlt_entity_id, dlt_template_id, after, may_duplicate, look_at)
    select m.tenant_id, m.business_key, s.step, s.channel::sendledger.message_channel, s.route_id, s.sender_id, s.body, s.encoding, s.segments::smallint,
      s.template_id, s.template_version::integer, s.template_params::jsonb, s.dlt_entity_id, s.dlt_template_id,
      s.after_s::integer * interval '1 s', coalesce(s.may_duplicate, false), case when s.step = 1 then greatest(m.due_at, m.scheduled_for) + s.after_s::integer * interval '1 s' end
    from unnest(answers) made
    join unnest(steps) s on s.ord = made.ord
    join sendledger.outbound_message m on m.id = made.message_id::bigint and m.created_at = at_now
      and m.id = any (array(select c.message_id::bigint from unnest(answers) c where c.answer = 'created'))
    where made.answer = 'created'
    on conflict (tenant_id, business_key, step) do update
    set (channel, route_id, sender_id, body, encoding, segments, template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
        after, may_duplicate, look_at, taken_at)
      = (excluded.channel, excluded.route_id, excluded.sender_id, excluded.body, excluded.encoding, excluded.segments, excluded.template_id,
        excluded.template_version, excluded.template_params, excluded.dlt_entity_id, excluded.dlt_template_id, excluded.after, excluded.may_duplicate,
        excluded.look_at, null);
  end if;

  if taken then
    for i in 1..cardinality(answers) loop
      a := answers[i];
      continue when a.answer is not null;
      -- A second statement, because the first one's snapshot cannot see a winner that committed while it waited. One table at
      -- a time, by its whole key: joined, and without nested loops, it would read the table.
      select k.message_id, k.message_created_at, k.content_hash into winner
      from sendledger.message_key k
      where k.tenant_id = a.attempt_key and k.business_key = a.message_id;
      a.answer := case when encode(winner.content_hash, 'hex') = a.lane then 'duplicate' else 'conflict' end;
      a.lane := null;
      a.attempt_key := null;
      select m.attempt_key::text into a.attempt_key
      from sendledger.outbound_message m
      where m.id = winner.message_id and m.created_at = winner.message_created_at;
      a.message_id := winner.message_id::text;
      a.message_created_at := sendledger.iso_text(winner.message_created_at);
      a.field := case when a.answer = 'conflict' then 'body' end;
      a.reason := case when a.answer = 'conflict' then 'the same business key is taken by a message with other content' end;
      answers[i] := a;
    end loop;
  end if;
  if codes is not null then perform sendledger.supersede_codes(codes, at_now); end if;
  return query select * from unnest(answers);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.ensure_months(p_ahead integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
begin
  for i in 0..p_ahead loop
    perform sendledger.create_month(((now() at time zone 'UTC')::date + make_interval(months => i))::date);
  end loop;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.fall_back(p_id bigint, p_created_at timestamp with time zone)
 RETURNS sendledger.replay_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  a sendledger.replay_answer;
  m sendledger.outbound_message;
  k record;
  f record;
  r record;
  next_step smallint;
  new_id bigint;
  due timestamptz;
  at timestamptz(3) := date_trunc('milliseconds', now());
begin
  select o.* into m from sendledger.outbound_message o where o.id = p_id and o.created_at = p_created_at;
  if not found then
    a.answer := 'not_found';
    return a;
  end if;
  select x.* into k from sendledger.message_key x where x.tenant_id = m.tenant_id and x.business_key = m.business_key for update;
  select o.* into m from sendledger.outbound_message o where o.id = p_id and o.created_at = p_created_at for update;
  select x.* into f from sendledger.fallback x
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step = m.fallback_step and x.taken_at is null for update;
  select x.id, x.provider, l.window_opens, l.window_closes, l.window_zone, l.submit_within into r
  from sendledger.route x join sendledger.lane l on l.route_id = x.id and l.message_class = m.message_class
  where x.id = f.route_id and x.retired_at is null;

  a.answer := case
    when f.step is null then 'none'
    when k.message_id is distinct from p_id then 'replaced'
    when m.state = 'unknown' then 'unknown'
    when m.state = 'delivered' then 'delivered'
    -- What is not reported at all in its whole window is late too.
    when (m.state = 'submitted' or (m.state = 'expired' and m.state_reason = 'no_receipt')) and f.after is not null and f.may_duplicate
      and greatest(m.submitted_at, m.scheduled_for) + f.after <= clock_timestamp() then null
    when m.state not in ('rejected', 'failed') then 'open'
    -- It was taken back, there or here.
    when m.state_reason = 'cancelled_at_provider' or sendledger.is_cancelled(m) then 'cancelled'
    -- Closed, and something says that it was sent.
    when m.conflict or m.billed_after_close_at is not null then 'doubtful'
  end;
  if a.answer is null and m.state in ('submitted', 'expired') and sendledger.is_cancelled(m) then a.answer := 'cancelled'; end if;
  -- Or that what it replaces was sent, and may arrive: only where this very step may come beside it.
  if a.answer is null and not f.may_duplicate and m.replaces_id is not null and exists (
    with recursive before as (
      select o.state, o.conflict, o.billed_after_close_at, o.replaces_id, o.replaces_created_at
      from sendledger.outbound_message o where o.id = m.replaces_id and o.created_at = m.replaces_created_at
      union all
      select o.state, o.conflict, o.billed_after_close_at, o.replaces_id, o.replaces_created_at
      from before b join sendledger.outbound_message o on o.id = b.replaces_id and o.created_at = b.replaces_created_at
    )
    select from before b where b.state in ('submitted', 'delivered', 'unknown', 'expired') or b.conflict or b.billed_after_close_at is not null
  ) then a.answer := 'doubtful'; end if;
  -- A newer code for the same recipient and purpose takes the place of an older one, also of what would be sent instead of it. The
  -- turns are those of the newer one, which may be on its way into the ledger.
  if a.answer is null and m.message_class = 'otp' then
    perform pg_advisory_xact_lock(hashtextextended(sendledger.key_part(m.tenant_id) || sendledger.key_part(m.recipient) || sendledger.key_part(m.event_type), 7202611));
    if exists (select from sendledger.outbound_message o where o.recipient = m.recipient and o.created_at >= m.created_at and o.message_class = 'otp'
        and o.tenant_id = m.tenant_id and o.event_type = m.event_type and o.business_key <> m.business_key and o.id > m.id) then
      a.answer := 'superseded';
    end if;
  end if;
  if a.answer is null and m.submit_by <= clock_timestamp() then a.answer := 'too_late'; end if;
  if a.answer is null and r.id is null then a.answer := 'no_route'; end if;

  if a.answer in ('open', 'unknown') then
    a.reason := case a.answer when 'unknown' then 'nobody knows yet whether it was sent' else 'it is still ' || m.state end;
    return a;
  end if;
  if a.answer is not null then
    a.reason := case a.answer
      when 'replaced' then 'it was replaced'
      when 'delivered' then 'it was delivered'
      when 'cancelled' then 'it was cancelled'
      when 'superseded' then 'a newer code took its place'
      when 'doubtful' then 'something says that it was sent after all'
      when 'too_late' then 'its submit_by has passed'
      when 'no_route' then 'the route of the next step is retired, or has no lane for this class'
      else 'no step is left' end;
    -- Decided: it is not asked again.
    if m.fallback_step is not null and m.state in ('rejected', 'failed', 'delivered', 'expired') then
      update sendledger.outbound_message o set fallback_step = null, updated_at = now()
      where o.id = p_id and o.created_at = p_created_at and o.state::text in ('rejected', 'failed', 'delivered', 'expired');
    end if;
    update sendledger.fallback x set look_at = null
    where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step = m.fallback_step and x.look_at is not null;
    return a;
  end if;

  select min(x.step) into next_step from sendledger.fallback x
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step > m.fallback_step and x.taken_at is null;
  -- Not before the time that was meant for the first.
  due := sendledger.due_in_window(greatest(at, m.scheduled_for), r.window_opens, r.window_closes, r.window_zone);
  new_id := nextval('sendledger.message_id_seq');
  insert into sendledger.outbound_message (
    id, created_at, attempt_key, tenant_id, business_key, event_type, event_id, event_version, campaign_id, replaces_id, replaces_created_at,
    channel, message_class, recipient, country, sender_id, route_id, provider, body, encoding, segments,
    template_id, template_version, template_params, dlt_entity_id, dlt_template_id, due_at, submit_by, on_proven_absent, fallback_step, state_reason,
    scheduled_for, scheduled_tz, scheduled_offset_s, asked_again_at)
  values (
    new_id, at, sendledger.attempt_key_of(new_id, gen_random_uuid()), m.tenant_id, m.business_key, m.event_type, m.event_id, m.event_version, m.campaign_id, m.id, m.created_at,
    f.channel, m.message_class, m.recipient, m.country, f.sender_id, r.id, r.provider, f.body, f.encoding, f.segments,
    f.template_id, f.template_version, f.template_params, f.dlt_entity_id, f.dlt_template_id, due, m.submit_by, m.on_proven_absent, next_step,
    case when due > greatest(at, m.scheduled_for) then 'outside_window' end,
    case when m.scheduled_for > at then m.scheduled_for end, case when m.scheduled_for > at then m.scheduled_tz end,
    case when m.scheduled_for > at then m.scheduled_offset_s end, m.asked_again_at)
  returning attempt_key::text into a.attempt_key;
  update sendledger.message_key x set message_id = new_id, message_created_at = at, forget_after = null
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.message_id = p_id;
  update sendledger.outbound_message o set fallback_step = null, updated_at = now()
  where o.id = p_id and o.created_at = p_created_at and o.state::text in ('rejected', 'failed', 'submitted', 'expired');
  update sendledger.fallback x set taken_at = now(), look_at = null
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step = m.fallback_step;
  update sendledger.fallback x set look_at = due + x.after
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step = next_step and x.after is not null;
  insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
  values ('sendledger', 'fallback', 'message ' || p_id, p_id, p_created_at,
    case when m.state in ('submitted', 'expired') then 'not delivered in time, and a duplicate is acceptable' else m.state || ': ' || coalesce(m.state_reason, 'no reason given') end,
    json_build_object('successor', new_id::text, 'step', m.fallback_step, 'channel', f.channel, 'route_id', r.id::text));
  a.answer := 'created';
  a.message_id := new_id::text;
  a.message_created_at := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  a.lane := r.id::text || '.' || m.message_class;
  return a;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.find_messages(p_tenant text, p_message_id bigint, p_business_key text, p_event_type text, p_event_id text, p_limit integer)
 RETURNS TABLE(id text, created_at timestamp with time zone, business_key text, attempt_key text, replaces_id text, event_type text, event_id text, campaign_id text, channel text, message_class text, recipient text, state text, state_reason text, attempt_count integer, due_at timestamp with time zone, submit_by timestamp with time zone, scheduled_for timestamp with time zone, submitted_at timestamp with time zone, delivered_at timestamp with time zone, provider text, provider_txn_id text, provider_message_id text, provider_status_code text, provider_cause text, billable_units integer, cost text, cost_currency text, cost_source text, conflict boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query
  with found as materialized (
    select m.id, m.created_at, m.business_key, null::sendledger.message_state as last_state from sendledger.outbound_message m
    where m.id = p_message_id and m.tenant_id = p_tenant
    union all
    select k.message_id, k.message_created_at, k.business_key, k.last_state from sendledger.message_key k
    where k.tenant_id = p_tenant and k.business_key = p_business_key
    union all
    (select k.message_id, k.message_created_at, k.business_key, k.last_state from sendledger.message_key k
    where k.tenant_id = p_tenant and k.event_id = p_event_id order by k.message_id limit p_limit)
  )
  select f.id::text, f.created_at::timestamptz, f.business_key, m.attempt_key::text, m.replaces_id::text, m.event_type, m.event_id, m.campaign_id,
    m.channel::text, m.message_class::text, m.recipient, coalesce(m.state, f.last_state)::text, m.state_reason, m.attempt_count::integer, m.due_at, m.submit_by,
    m.scheduled_for, m.submitted_at, m.delivered_at, m.provider, m.provider_txn_id::text, m.provider_message_id::text,
    m.provider_status_code, m.provider_cause, m.billable_units::integer, m.cost::text, m.cost_currency::text, m.cost_source::text, m.conflict
  from found f
  left join sendledger.outbound_message m on m.id = f.id and m.created_at = f.created_at
  where p_event_type is null or m.event_type = p_event_type
  order by f.id
  limit p_limit;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.guard_partition(p_parent text, p_leaf text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
begin
  if p_parent = 'outbound_message' then
    execute format(
      'create trigger guard_submission after update on sendledger.%I
         referencing old table as old_rows new table as new_rows
         for each statement execute function sendledger.check_submission_moves()', p_leaf);
  end if;
  execute format(
    'create trigger guard_truncate before truncate on sendledger.%I
       for each statement execute function sendledger.refuse(%L)', p_leaf, p_parent || ' is not truncated; a partition is detached');
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.instant_or_null(p_value text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
begin
  -- Without an offset it would be read in the session's zone.
  if p_value !~ '^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|z|[+-]\d{2}(:?\d{2})?)$' then
    return null;
  end if;
  return p_value::timestamptz;
exception when data_exception then
  return null;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.is_cancelled(m sendledger.outbound_message)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
  select exists (select from sendledger.cancellation c where c.kind = 'message' and c.message_id = m.id)
    or (m.replaces_id is not null and sendledger.replaced_was_cancelled(m.replaces_id, m.replaces_created_at, m.asked_again_at))
    or exists (select from sendledger.cancellation c where c.kind = 'key' and c.tenant_id = m.tenant_id
      and c.business_key = m.business_key and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
    or exists (select from sendledger.cancellation c where c.kind = 'event' and c.tenant_id = m.tenant_id
      and c.event_id = m.event_id and c.event_type = m.event_type and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
    or (m.campaign_id is not null and exists (select from sendledger.cancellation c where c.kind = 'campaign' and c.tenant_id = m.tenant_id
      and c.campaign_id = m.campaign_id and (c.covers_until is null or m.created_at <= c.covers_until)
      and (m.asked_again_at is null or m.asked_again_at <= c.created_at)))
    or exists (select from sendledger.cancellation c where c.kind = 'tenant' and c.tenant_id = m.tenant_id
      and m.created_at <= c.covers_until and (c.message_class is null or c.message_class = m.message_class)
      and (m.asked_again_at is null or m.asked_again_at <= c.created_at))
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.iso_text(p_at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.judge_steps(p_messages json, p_ords integer[])
 RETURNS SETOF sendledger.enqueue_step
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
    select x.ord, x.step::smallint, x.channel, x.route_id, x.sender, x.body, x.bill_encoding, x.bill_segments,
      x.template_id, x.template_version, x.template_params, x.dlt_entity_id, x.dlt_template_id, x.after_s, x.may_duplicate, x.national_digits,
      case
        when x.channel is null or x.channel not in ('sms', 'whatsapp', 'voice', 'rcs') then 'fallback:not a channel that reaches the same number'
        when x.body is null or x.body = '' then 'fallback:a body is required'
        when octet_length(x.body) > 16384 then 'fallback:a body over 16384 octets'
        when x.channel = 'sms' and x.sender_id is not null and x.sender_id !~ '^([A-Za-z0-9 ._-]{1,11}|[0-9]{1,15})$' then 'fallback:a sender is 1 to 11 letters and digits, or up to 15 digits'
        when x.dlt_entity_id in ('', '0', 'null', 'NULL', '-') or x.dlt_template_id in ('', '0', 'null', 'NULL', '-') then 'fallback:a placeholder is not an id'
        when x.template_version is not null and x.template_version !~ '^[1-9][0-9]{0,8}$' then 'fallback:a template version is not a whole number'
        when x.route_id is null then 'fallback:no route of that name; or it was not named, and this channel has none or several'
        when not x.has_lane then 'fallback:the route has no lane for this class'
        when x.sender_required and x.sender is null then 'fallback:the route needs a sender, and has no default'
        when x.bill_encoding is null or x.bill_encoding not in ('GSM7', 'UCS2') then 'fallback:GSM7 or UCS2, counted by the rule of the route'
        when x.bill_segments is null or x.bill_segments !~ '^[1-9][0-9]{0,2}$' then 'fallback:segments are a whole number from 1 to 999, counted by the rule of the route'
        when x.bill_segments::integer < ceil(length(x.body) / case x.bill_encoding when 'GSM7' then 160.0 else 70.0 end) and x.channel = 'sms' then 'fallback:fewer segments than the text can fit in'
        when x.channel = 'sms' and x.bill_segments::integer > 10 then 'fallback:over 10 segments in the encoding its route sends'
        when x.after_s is not null and x.after_s !~ '^[1-9][0-9]{0,6}$' then 'fallback:after is a whole number of seconds'
        when x.after_s is not null and not coalesce(x.may_duplicate, false) then 'fallback:what may yet arrive is followed by another only where a duplicate is acceptable'
        when x.message_class = 'otp' and not coalesce((select t.message_class = 'otp' and t.channel::text = x.channel from sendledger.message_template t
          where t.template_id = x.template_id and t.version::text = x.template_version and t.retired_at is null), false)
          then 'fallback:a one-time password needs a registered template of class otp'
      end as problem
    from (
      select s.*, r.national_digits, l.route_id is not null as has_lane, r.sender_required, coalesce(s.sender_id, r.default_sender_id) as sender,
        case when r.encoding_rule = 'ascii' then coalesce(s.ascii_encoding, case when octet_length(s.body) = length(s.body) then s.encoding end)
          else s.encoding end as bill_encoding,
        case when r.encoding_rule = 'ascii' then coalesce(s.ascii_segments, case when octet_length(s.body) = length(s.body) then s.segments end)
          else s.segments end as bill_segments
      from (
        select coalesce(p_ords[g.n], g.n::integer) as ord, e.step, g.message_class,
          sendledger.route_for(g.tenant_id, i.channel, g.message_class, i.route) as route_id, i.*
        from rows from (json_to_recordset(p_messages) as (tenant_id text, message_class text, fallback json))
          with ordinality as g(tenant_id, message_class, fallback, n)
        cross join lateral json_array_elements(case when json_typeof(g.fallback) = 'array' and json_array_length(g.fallback) <= 5 then g.fallback else '[]'::json end) with ordinality as e(value, step)
        cross join lateral json_to_record(case when json_typeof(e.value) = 'object' then e.value else '{}'::json end) as i(
          channel text, route text, sender_id text, body text, encoding text, segments text, ascii_encoding text, ascii_segments text,
          template_id text, template_version text, template_params json, dlt_entity_id text, dlt_template_id text, after_s text, may_duplicate boolean)
        where g.fallback is not null
      ) s
      left join sendledger.route r on r.id = s.route_id
      left join sendledger.lane l on l.route_id = r.id and l.message_class::text = s.message_class
    ) x
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.key_part(p_value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when p_value is null then '-' else octet_length(p_value)::text || ':' || p_value end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.lock_keys_of(p_ids bigint[], p_from timestamp with time zone, p_to timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  tenants text[];
  keys text[];
begin
  select array_agg(distinct m.tenant_id), array_agg(m.business_key) into tenants, keys from sendledger.outbound_message m
  where m.id = any (p_ids) and m.created_at >= p_from and m.created_at <= p_to;
  -- Nothing is joined where a lock is waited for: with a join of the two, Postgres 18.4 answers "compressed pglz data is corrupt"
  -- now and then when the key has moved on meanwhile.
  perform from sendledger.message_key k
  where k.tenant_id = any (tenants) and k.business_key = any (keys)
  order by k.tenant_id, k.business_key
  for update;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.mark_next(p_route bigint, p_class sendledger.message_class, p_limit integer, p_environment text, p_worker bigint, p_lease_ms double precision, p_row_limit bigint)
 RETURNS TABLE(submission_id bigint, submission_created_at timestamp with time zone, size integer, lease_token uuid, requested_at timestamp with time zone, is_probe boolean, not_after timestamp with time zone, id bigint, created_at timestamp with time zone, attempt_key uuid, recipient text, sender_id text, body text, encoding text, dlt_entity_id text, dlt_template_id text, attempt_count smallint, submit_by timestamp with time zone, hold_until timestamp with time zone)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET jit TO 'off'
AS $function$
#variable_conflict use_column
declare
  ids bigint[];
  created timestamptz[];
  sizes integer[];
  tokens uuid[];
  requested timestamptz[];
  probes boolean[];
  ends timestamptz[];
begin
  -- Durable, whatever the default of the role: a mark that went with the server while its request is on the wire would be one sent twice.
  -- For the transaction, which may be this statement's own.
  perform set_config('synchronous_commit', case when current_setting('synchronous_commit') in ('on', 'remote_apply')
    then current_setting('synchronous_commit') else 'on' end, true);
  -- First and alone, so that the statement after it has a snapshot that is newer than the lock: a pause, a breaker or a hold that was
  -- being written is waited for and then seen, and so are the marks of other workers.
  perform from sendledger.route r where r.id = p_route for no key update;

  with gate as materialized (
    select e.epoch_no, r.breaker_state = 'closed' as breaker_closed, (r.breaker_state = 'open' and r.probe_at <= clock_timestamp()) as probe_due,
      -- Bulk that waits for its replies must not hold every place: a part is left to one-time passwords.
      r.max_in_flight_requests - case when p_class = 'otp' then 0 when r.max_in_flight_requests > 1 then ceil(r.max_in_flight_requests * r.otp_reserve) else 0 end - busy.requests as request_room,
      r.max_in_flight_rows - case when p_class = 'otp' then 0 else floor(r.max_in_flight_rows * r.otp_reserve) end - busy.rows as row_room,
      busy.rows = 0 as idle
    from sendledger.route r
    join sendledger.lane l on l.route_id = r.id and l.message_class = p_class
    cross join sendledger.dataset_epoch e
    cross join lateral (
      select count(*) as requests, coalesce(sum(s.size), 0) as rows from sendledger.submission s
      -- Also one whose lease is over: it holds its place until the sweep has counted it for the breaker, or places would be free
      -- before the failures are seen.
      where s.route_id = r.id and s.state = 'marked'
    ) busy
    where r.id = p_route and r.paused_at is null and l.paused_at is null and not r.hold
      and coalesce(r.throttled_until, '-infinity') <= clock_timestamp() and coalesce(r.rate_per_second, 1) > 0
      and e.status = 'ok' and e.environment = p_environment
      and e.system_identifier = (select c.system_identifier::text from pg_control_system() c)
      and e.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
  ), next as materialized (
    select s.id, s.created_at, s.size
    from sendledger.submission s, gate g
    where s.route_id = p_route and s.message_class = p_class and s.state = 'open'
      and s.lease_until > clock_timestamp() and s.not_after > clock_timestamp() and s.epoch_no = g.epoch_no
      and (g.breaker_closed or (s.is_probe and g.probe_due))
    order by s.id
    limit greatest(0, least(p_limit, (select case when g.breaker_closed then g.request_room else least(g.request_room, 1) end from gate g)))
    for update of s skip locked
  ), fitting as materialized (
    select n.id, n.created_at
    from (select n.*, sum(n.size) over (order by n.id) as so_far, row_number() over (order by n.id) as place from next n) n, gate g
    -- A request larger than the whole bound goes when nothing else is on the wire, or it would never go.
    where (n.so_far <= g.row_room or (n.place = 1 and g.idle)) and n.so_far <= coalesce(p_row_limit, n.so_far)
  ), slot as (
    -- A probe takes its slot with its mark: a prober that dies here costs one interval, and two never leave together.
    update sendledger.route r
    set probe_at = clock_timestamp() + least(r.probe_first_ms * power(2, least(r.probes + 1, 20)), r.probe_longest_ms) * interval '1 ms', probes = r.probes + 1, probe_forced = false, updated_at = now()
    where r.id = p_route and r.breaker_state = 'open' and r.probe_at <= clock_timestamp() and exists (select from fitting)
  ), marked as (
    update sendledger.submission s
    set state = 'marked', requested_at = date_trunc('milliseconds', clock_timestamp()), marked_by = p_worker, lease_token = gen_random_uuid(),
        lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    where s.id = any (array(select f.id from fitting f))
      and s.created_at >= (select min(f.created_at) from fitting f) and s.created_at <= (select max(f.created_at) from fitting f)
      and s.state::text = 'open'
    returning s.id, s.created_at, s.size, s.lease_token, s.requested_at, s.is_probe, s.not_after
  )
  select array_agg(k.id order by k.id), array_agg(k.created_at order by k.id), array_agg(k.size order by k.id), array_agg(k.lease_token order by k.id),
    array_agg(k.requested_at order by k.id), array_agg(k.is_probe order by k.id), array_agg(k.not_after order by k.id)
  into ids, created, sizes, tokens, requested, probes, ends
  from marked k;
  if ids is null then
    return;
  end if;
  -- Rows by their submissions' keys, and each submission's part by its place: joined with what was marked, the plan would flip where the
  -- statistics are from before a burst.
  return query select ids[m.place], created[m.place], sizes[m.place], tokens[m.place], requested[m.place], probes[m.place], ends[m.place],
    m.id, m.created_at::timestamptz, m.attempt_key, m.recipient, m.sender_id, m.body, m.encoding, m.dlt_entity_id::text, m.dlt_template_id::text, m.attempt_count, m.submit_by,
    case when m.held_by = 'provider' and m.scheduled_for > now() then m.scheduled_for end
  from (select x.*, width_bucket(x.submission_id, ids) as place from sendledger.outbound_message x
    where x.submission_id = any (ids) and x.state = 'claimed' offset 0) m
  order by m.id;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.move_schedule(p_tenant text, p_id bigint, p_to text, p_zone text, p_whole boolean, p_who text, p_why text, OUT answer text, OUT lane text, OUT scheduled_for timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  m record;
  s record;
  l record;
  wanted record;
  tz text;
  due timestamptz;
  changed integer;
begin
  if coalesce(p_who, '') = '' or coalesce(p_why, '') = '' then
    answer := 'invalid';
    return;
  end if;
  select o.id, o.created_at, o.state, o.held_by, o.scheduled_for, o.scheduled_tz, o.submission_id, o.submission_created_at, o.route_id, o.message_class
  into m from sendledger.outbound_message o where o.id = p_id and o.tenant_id = p_tenant;
  if not found then
    answer := 'not_found';
    return;
  end if;
  tz := coalesce(p_zone, m.scheduled_tz);
  select * into wanted from sendledger.read_schedule(p_to, tz);
  if wanted.at is null or wanted.at <= clock_timestamp() or (p_zone is not null and sendledger.zone_or_null(p_zone) is null) then
    answer := 'invalid';
    return;
  end if;
  if m.scheduled_for is null then
    answer := 'not_scheduled';
    return;
  end if;
  scheduled_for := wanted.at;
  lane := m.route_id::text || '.' || m.message_class;

  -- A claim under way is over in a moment; what it claimed and nobody marked is released, the submission first.
  if m.state = 'claimed' then
    with locked as materialized (
      select x.id from sendledger.submission x
      where x.id = m.submission_id and x.created_at = m.submission_created_at and x.state::text = 'open' for update
    )
    update sendledger.submission x set state = 'released'
    where x.id in (select k.id from locked k) and x.created_at = m.submission_created_at and x.state::text = 'open';
    get diagnostics changed = row_count;
    if changed = 1 then
      update sendledger.outbound_message o set state = 'pending', submission_id = null, submission_created_at = null, updated_at = now()
      where o.submission_id = m.submission_id and o.state = 'claimed';
    end if;
  end if;

  select x.window_opens, x.window_closes, x.window_zone into l from sendledger.lane x
  where x.route_id = m.route_id and x.message_class = m.message_class;
  due := sendledger.due_in_window(wanted.at, l.window_opens, l.window_closes, l.window_zone);
  update sendledger.outbound_message o
  set scheduled_for = wanted.at, scheduled_tz = tz, scheduled_offset_s = wanted.utc_offset_s, updated_at = now(),
    due_at = case when o.held_by = 'provider' then least(o.due_at, due) else due end,
    state_reason = case when o.held_by = 'us' and due > wanted.at then 'outside_window' end,
    -- As long as it was worth after the time at which it could leave.
    submit_by = due + (o.submit_by - sendledger.due_in_window(o.scheduled_for, l.window_opens, l.window_closes, l.window_zone))
  where o.id = m.id and o.created_at = m.created_at and o.state::text in ('pending', 'retry');
  get diagnostics changed = row_count;
  if changed = 1 then
    answer := 'moved';
    insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
    values (p_who, 'schedule_moved', 'message ' || m.id, m.id, m.created_at, p_why, json_build_object('from', m.scheduled_for, 'to', wanted.at));
    return;
  end if;

  select o.id, o.created_at, o.state, o.held_by, o.scheduled_for, o.submission_id, o.submission_created_at, o.provider_txn_id, o.route_id
  into m from sendledger.outbound_message o where o.id = m.id and o.created_at = m.created_at;
  if m.state = 'unknown' then
    answer := 'unknown';
    return;
  end if;
  if m.state <> 'submitted' or m.held_by <> 'provider' or m.scheduled_for <= clock_timestamp() or m.provider_txn_id is null then
    answer := 'too_late';
    return;
  end if;
  select count(*) as recipients, bool_and(o.tenant_id = p_tenant and o.state = 'submitted') as ours, min(o.route_id) as route_id
  into s from sendledger.outbound_message o where o.submission_id = m.submission_id and o.state in ('claimed', 'submitted', 'unknown');
  -- At a time that its window allows, and that the provider's clock says once.
  if due <> wanted.at or exists (select from sendledger.route x cross join lateral sendledger.wall_clock(wanted.at at time zone x.provider_zone, x.provider_zone) w
      where x.id = m.route_id and w.earlier <> w.later) then
    answer := 'invalid';
    return;
  end if;
  -- It is to be dropped there.
  if exists (select from sendledger.schedule_change x where x.submission_id = m.submission_id and x.kind = 'cancel' and x.ended_at is null) then
    answer := 'too_late';
    return;
  end if;
  if not s.ours or (s.recipients > 1 and not coalesce(p_whole, false)) then
    answer := 'shared';
    return;
  end if;
  insert into sendledger.schedule_change as x (tenant_id, route_id, submission_id, submission_created_at, provider_txn_id, kind, scheduled_for, move_to, requested_by, reason)
  values (p_tenant, s.route_id, m.submission_id, m.submission_created_at, m.provider_txn_id, 'move', m.scheduled_for, wanted.at, p_who, p_why)
  -- Asked for again before it was done: the later wish counts.
  on conflict (submission_id, kind) where ended_at is null do update
  set move_to = excluded.move_to, next_at = now(), asks = 0, answered = null, seen = null;
  insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
  values (p_who, 'schedule_move_asked', 'message ' || m.id, m.id, m.created_at, p_why, json_build_object('from', m.scheduled_for, 'to', wanted.at));
  answer := 'asked';
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.read_schedule(p_text text, p_zone text)
 RETURNS sendledger.schedule
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  local timestamp;
  s sendledger.schedule;
begin
  s.at := sendledger.instant_or_null(p_text);
  if p_zone is null then
    return s;
  end if;
  if s.at is not null then
    local := s.at at time zone p_zone;
  elsif p_text ~ '^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$' then
    local := p_text::timestamp;
    s.at := (sendledger.wall_clock(local, p_zone)).first;
  else
    return s;
  end if;
  s.utc_offset_s := extract(epoch from local - (s.at at time zone 'UTC'))::integer;
  return s;
exception when data_exception then
  return null;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.record_cancellation(p_tenant text, p_kind text, p_message_id bigint, p_business_key text, p_event_type text, p_event_id text, p_campaign_id text, p_class sendledger.message_class, p_covers_until timestamp with time zone, p_who text, p_why text, p_first bigint)
 RETURNS sendledger.cancellation
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  c sendledger.cancellation;
begin
  if p_kind = 'message' and not exists (select from sendledger.outbound_message m where m.id = p_message_id and m.tenant_id = p_tenant) then
    return null;
  end if;
  insert into sendledger.cancellation (tenant_id, kind, message_id, business_key, event_type, event_id, campaign_id, message_class,
    covers_until, requested_by, reason, created_at)
  values (p_tenant, p_kind, p_message_id, p_business_key, p_event_type, p_event_id, p_campaign_id, p_class,
    case p_kind when 'campaign' then p_covers_until when 'tenant' then coalesce(p_covers_until, clock_timestamp()) end, p_who, p_why,
    coalesce((select f.created_at from sendledger.cancellation f where f.id = p_first and f.tenant_id = p_tenant), now()))
  returning * into c;
  return c;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.redact_final(p_before timestamp with time zone, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  done integer;
begin
  with x as materialized (
    select m.id, m.created_at from sendledger.outbound_message m
    where m.created_at < p_before and m.body <> '[redacted]'
      and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded')
    limit p_limit for update skip locked
  ), redacted as (
    update sendledger.outbound_message m
    set body = '[redacted]', template_params = null, updated_at = now()
    from x
    where m.id = x.id and m.created_at = x.created_at
      and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded')
    returning m.id, m.tenant_id, m.business_key
  ), chains as (
    update sendledger.fallback f set body = '[redacted]', template_params = null, look_at = null, taken_at = coalesce(f.taken_at, now())
    from redacted d join sendledger.message_key k on k.tenant_id = d.tenant_id and k.business_key = d.business_key and k.message_id = d.id
    where f.tenant_id = d.tenant_id and f.business_key = d.business_key and f.body <> '[redacted]'
  )
  select count(*) into done from redacted;
  return done;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.refuse()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
begin
  raise exception using errcode = '23514', constraint = 'guard: ' || tg_name, message = tg_argv[0];
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.refuse_message_update()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
begin
  if old.state is distinct from new.state and not (
      (old.state = 'pending' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'claimed' and new.state in ('pending', 'retry', 'submitted', 'rejected', 'unknown'))
      or (old.state = 'retry' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'submitted' and new.state in ('delivered', 'failed', 'expired'))
      or (old.state = 'unknown' and new.state in ('submitted', 'failed'))) then
    raise exception using errcode = '23514', constraint = 'guard: state', message = format('illegal transition %s -> %s on outbound_message %s', old.state, new.state, old.id);
  end if;
  if (new.state_reason is null or new.state_reason is not distinct from old.state_reason) and ((old.state = 'unknown' and new.state = 'failed')) then
    raise exception using errcode = '23514', constraint = 'guard: reason', message = format('%s -> %s on outbound_message %s needs a stored reason', old.state, new.state, old.id);
  end if;
  if (old.id, old.created_at, old.tenant_id, old.business_key, old.attempt_key, old.event_type, old.event_id, old.replaces_id, old.replaces_created_at) is distinct from (new.id, new.created_at, new.tenant_id, new.business_key, new.attempt_key, new.event_type, new.event_id, new.replaces_id, new.replaces_created_at) then
    raise exception using errcode = '23514', constraint = 'guard: identity', message = format('the identity of outbound_message %s is frozen', old.id);
  end if;
  if (old.claimed_at is not null or old.state not in ('pending', 'retry')) and (old.recipient, old.country, old.channel, old.message_class, old.sender_id, old.body, old.encoding, old.segments, old.template_id, old.template_version, old.template_params, old.dlt_entity_id, old.dlt_template_id) is distinct from (new.recipient, new.country, new.channel, new.message_class, new.sender_id, new.body, new.encoding, new.segments, new.template_id, new.template_version, new.template_params, new.dlt_entity_id, new.dlt_template_id)
      and not (old.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded') and current_user = 'sendledger_owner') then
    raise exception using errcode = '23514', constraint = 'guard: content', message = format('recipient and content of outbound_message %s are frozen since its first claim', old.id);
  end if;
  if old.claimed_at is not null and new.claimed_at is null then
    raise exception using errcode = '23514', constraint = 'guard: claimed_at', message = format('claimed_at of outbound_message %s cannot be unset', old.id);
  end if;
  if (old.submission_id, old.submission_created_at) is distinct from (new.submission_id, new.submission_created_at)
      and not (old.state in ('pending', 'retry') and new.state = 'claimed' and new.submission_id is not null)
      and not (old.state = 'claimed' and new.state = 'pending' and new.submission_id is null) then
    raise exception using errcode = '23514', constraint = 'guard: submission', message = format('submission_id of outbound_message %s changes only with a claim or a release', old.id);
  end if;
  if (old.route_id, old.provider) is distinct from (new.route_id, new.provider) and old.state not in ('pending', 'retry') then
    raise exception using errcode = '23514', constraint = 'guard: route', message = format('the route of outbound_message %s is frozen outside pending and retry', old.id);
  end if;
  if (old.quoted_units, old.quoted_cost, old.quoted_currency) is distinct from (new.quoted_units, new.quoted_cost, new.quoted_currency)
      and not (new.state = 'claimed' and old.state in ('pending', 'retry')) then
    raise exception using errcode = '23514', constraint = 'guard: quote', message = format('the quote of outbound_message %s is written by a claim only', old.id);
  end if;
  if old.cost is not null and
      (old.cost, old.billable_units, old.cost_currency, old.cost_source) is distinct from (new.cost, new.billable_units, new.cost_currency, new.cost_source) then
    raise exception using errcode = '23514', constraint = 'guard: cost', message = format('the cost of outbound_message %s is set once', old.id);
  end if;
  if old.cost_source is distinct from new.cost_source and new.cost_source in ('imported', 'recovered')
      and current_user <> 'sendledger_import' then
    raise exception using errcode = '23514', constraint = 'guard: cost source', message = format('outbound_message %s was neither imported nor recovered by this writer', old.id);
  end if;
  if old.requested_at is not null and old.requested_at is distinct from new.requested_at and old.state <> 'claimed' then
    raise exception using errcode = '23514', constraint = 'guard: requested_at', message = format('the time of the request of outbound_message %s is written by an outcome only', old.id);
  end if;
  if (old.provider_txn_id is not null and new.provider_txn_id is distinct from old.provider_txn_id)
      or (old.provider_message_id is not null and new.provider_message_id is distinct from old.provider_message_id)
      or (old.provider_campaign_id is not null and new.provider_campaign_id is distinct from old.provider_campaign_id)
      or (old.submitted_at is not null and new.submitted_at is distinct from old.submitted_at)
      or (old.delivered_at is not null and new.delivered_at is distinct from old.delivered_at)
      or (old.billed_after_close_at is not null and new.billed_after_close_at is distinct from old.billed_after_close_at) then
    raise exception using errcode = '23514', constraint = 'guard: set once', message = format('a fact of outbound_message %s is set once (provider_txn_id, provider_message_id, provider_campaign_id, submitted_at, delivered_at, billed_after_close_at)', old.id);
  end if;
  if new.attempt_count not between old.attempt_count and old.attempt_count + 1 then
    raise exception using errcode = '23514', constraint = 'guard: attempts', message = format('attempt_count of outbound_message %s goes up by one', old.id);
  end if;
  raise exception using errcode = '23514', message = format('illegal update of outbound_message %s', old.id);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.replaced_was_cancelled(p_id bigint, p_created_at timestamp with time zone, p_asked_again_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
  with recursive before as (
    select o.id, o.replaces_id, o.replaces_created_at from sendledger.outbound_message o where o.id = p_id and o.created_at = p_created_at
    union all
    select o.id, o.replaces_id, o.replaces_created_at
    from before b join sendledger.outbound_message o on o.id = b.replaces_id and o.created_at = b.replaces_created_at
  )
  select exists (select from before b join sendledger.cancellation c on c.kind = 'message' and c.message_id = b.id
    where p_asked_again_at is null or p_asked_again_at <= c.created_at)
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.replay(p_id bigint, p_created_at timestamp with time zone, p_who text, p_why text, p_may_duplicate boolean, p_automatic boolean, p_submit_by timestamp with time zone, p_route text, p_tenant text)
 RETURNS sendledger.replay_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  a sendledger.replay_answer;
  m sendledger.outbound_message;
  k record;
  l record;
  r record;
  new_id bigint;
  at timestamptz(3) := date_trunc('milliseconds', now());
  deadline timestamptz;
  due timestamptz;
  ahead boolean;
begin
  select o.* into m from sendledger.outbound_message o
  where o.id = p_id and o.created_at = p_created_at and (p_tenant is null or o.tenant_id = p_tenant);
  if not found then
    a.answer := 'not_found'; a.reason := 'there is no such message';
    if not p_automatic then
      insert into sendledger.audit_log (who, action, subject, why, details)
      values (p_who, 'replay_refused', 'message ' || p_id, p_why, json_build_object('answer', a.answer, 'may_duplicate', p_may_duplicate, 'route', p_route));
    end if;
    return a;
  end if;
  select x.* into k from sendledger.message_key x where x.tenant_id = m.tenant_id and x.business_key = m.business_key for update;
  select o.* into m from sendledger.outbound_message o where o.id = p_id and o.created_at = p_created_at for update;

  -- Where it goes: its own route, or the one that was named.
  select x.id, x.name, x.provider, x.encoding_rule, x.national_digits, x.sender_required, coalesce(m.sender_id, x.default_sender_id) as sender, x.schedule_lead
  into r from sendledger.route x
  where x.retired_at is null and x.channel = m.channel and case when p_route is null then x.id = m.route_id else x.name = p_route end;
  select x.submit_within, x.window_opens, x.window_closes, x.window_zone into l from sendledger.lane x where x.route_id = r.id and x.message_class = m.message_class;

  a.answer := case
    -- A historic duplicate never had the key, so this comes before all that asks for it.
    when m.state = 'superseded' then 'superseded'
    when k.message_id is null then 'key_forgotten'
    when k.message_id <> p_id then 'replaced'
    when m.state = 'unknown' then 'unknown'
    when m.state = 'delivered' then 'delivered'
    when m.state not in ('failed', 'rejected', 'expired', 'cancelled') then 'open'
    when m.body = '[redacted]' then 'redacted'
    -- Accepted and without a word of its fate, or with words that contradict each other: it may have arrived. What was imported
    -- or recovered may have been accepted without a known cost.
    when not coalesce(p_may_duplicate, false)
      and ((m.state <> 'failed' and (m.cost is not null or m.submitted_at is not null or m.cost_source is not null))
        or m.conflict or m.billed_after_close_at is not null
        -- Or what it replaces did after all. What replays by itself is stopped by the cancellation that such evidence writes.
        or (not p_automatic and exists (
          with recursive before as (
            select o.id, o.state, o.conflict, o.billed_after_close_at, o.replaces_id, o.replaces_created_at
            from sendledger.outbound_message o where o.id = m.replaces_id and o.created_at = m.replaces_created_at
            union all
            select o.id, o.state, o.conflict, o.billed_after_close_at, o.replaces_id, o.replaces_created_at
            from before b join sendledger.outbound_message o on o.id = b.replaces_id and o.created_at = b.replaces_created_at
          )
          select from before b where b.state = 'delivered' or b.conflict or b.billed_after_close_at is not null)))
      then 'may_duplicate'
    when p_automatic and m.on_proven_absent <> 'replay' then 'stopped'
    when p_automatic and m.submit_by <= clock_timestamp() then 'too_late'
    -- As a claim would judge the message itself: one that a person replayed after the cancellation is not covered by it.
    when p_automatic and sendledger.is_cancelled(m) then 'cancelled'
    when p_submit_by <= greatest(clock_timestamp(), m.scheduled_for) then 'too_late'
    -- What enqueue would refuse on this route: another one may read the number or count the text differently.
    when r.id is null or l.submit_within is null or length(m.recipient) = r.national_digits or (r.sender_required and r.sender is null)
      or (octet_length(m.body) <> length(m.body)
        and r.encoding_rule <> (select x.encoding_rule from sendledger.route x where x.id = m.route_id)) then 'no_route'
  end;
  a.reason := case a.answer
    when 'key_forgotten' then 'its business key was forgotten; enqueue it as a new event if it is wanted'
    when 'replaced' then 'it was replaced by message ' || k.message_id
    when 'unknown' then 'nobody knows yet whether it was sent; resolve it first, by evidence or by a review'
    when 'delivered' then 'it was delivered'
    when 'superseded' then 'it is a historic duplicate'
    when 'open' then 'it is still ' || m.state
    when 'redacted' then 'its text was removed'
    when 'may_duplicate' then 'it, or what it replaces, was accepted and may have arrived; say that a duplicate is acceptable, and why'
    when 'stopped' then 'its sender wants no second attempt by itself'
    when 'too_late' then 'its submit_by has passed, or lies before its schedule'
    when 'cancelled' then 'it was cancelled'
    when 'no_route' then case
      when r.id is null or l.submit_within is null then 'no such route with a lane of this channel and class'
      when length(m.recipient) = r.national_digits then 'the provider of route ' || r.name || ' reads a number of this length as a national one'
      when r.sender_required and r.sender is null then 'route ' || r.name || ' needs a sender'
      else 'route ' || r.name || ' counts the segments of its text by another rule; enqueue it as a new event'
    end
  end;
  if a.answer is not null then
    if not p_automatic then
      insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
      values (p_who, 'replay_refused', 'message ' || p_id, p_id, p_created_at, p_why,
        json_build_object('answer', a.answer, 'may_duplicate', p_may_duplicate, 'route', p_route));
    end if;
    return a;
  end if;

  -- What a provider was to hold, and can still be handed over in time, is held there again.
  ahead := m.held_by = 'provider' and m.scheduled_for > at + r.schedule_lead;
  due := case when ahead then at else sendledger.due_in_window(greatest(at, m.scheduled_for), l.window_opens, l.window_closes, l.window_zone) end;
  -- One that was said is kept to, whatever the schedule: past it the message is worthless.
  deadline := coalesce(p_submit_by, case when p_automatic then m.submit_by else greatest(due, m.scheduled_for) + l.submit_within end);
  new_id := nextval('sendledger.message_id_seq');
  insert into sendledger.outbound_message (
    id, created_at, attempt_key, tenant_id, business_key, event_type, event_id, event_version, campaign_id, replaces_id, replaces_created_at,
    channel, message_class, recipient, country, sender_id, route_id, provider, body, encoding, segments,
    template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
    scheduled_for, scheduled_tz, scheduled_offset_s, held_by, due_at, submit_by, on_proven_absent, fallback_step, state_reason, asked_again_at)
  values (
    new_id, at, sendledger.attempt_key_of(new_id, gen_random_uuid()), m.tenant_id, m.business_key, m.event_type, m.event_id, m.event_version, m.campaign_id, m.id, m.created_at,
    m.channel, m.message_class, m.recipient, m.country, r.sender, r.id, r.provider, m.body, m.encoding, m.segments,
    m.template_id, m.template_version, m.template_params, m.dlt_entity_id, m.dlt_template_id,
    case when m.scheduled_for > at then m.scheduled_for end, case when m.scheduled_for > at then m.scheduled_tz end,
    case when m.scheduled_for > at then m.scheduled_offset_s end, case when ahead then 'provider' else 'us' end, due, deadline, m.on_proven_absent, m.fallback_step,
    case when due > greatest(at, m.scheduled_for) then 'outside_window' end, case when p_automatic then m.asked_again_at else now() end)
  returning attempt_key::text into a.attempt_key;
  update sendledger.message_key x set message_id = new_id, message_created_at = at, forget_after = null
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.message_id = p_id;
  -- What was declared for when it cannot be delivered goes with it.
  if m.fallback_step is not null then
    update sendledger.outbound_message o set fallback_step = null
    where o.id = p_id and o.created_at = p_created_at and o.state::text in ('failed', 'rejected', 'expired', 'cancelled');
    update sendledger.fallback x set look_at = greatest(due, m.scheduled_for) + x.after
    where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.step = m.fallback_step and x.after is not null;
  end if;
  insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
  values (p_who, 'replay', 'message ' || p_id, p_id, p_created_at, p_why,
    json_build_object('successor', new_id::text, 'may_duplicate', coalesce(p_may_duplicate, false), 'automatic', p_automatic, 'route', p_route));
  a.answer := 'created';
  a.message_id := new_id::text;
  a.message_created_at := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  a.lane := r.id::text || '.' || m.message_class;
  return a;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.replay_own(p_tenant text, p_id bigint, p_created_at timestamp with time zone, p_who text, p_why text, p_may_duplicate boolean, p_submit_by timestamp with time zone, p_route text)
 RETURNS sendledger.replay_answer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
begin
  return sendledger.replay(p_id, p_created_at, p_who, p_why, p_may_duplicate, false, p_submit_by, p_route, coalesce(p_tenant, ''));
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.route_for(p_tenant text, p_channel text, p_class text, p_route text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when p_route is not null then (select x.id from sendledger.route x
      where x.name = p_route and x.channel::text = p_channel and x.retired_at is null)
    else coalesce(
      (select t.route_id from sendledger.tenant_route t join sendledger.route x on x.id = t.route_id
        where t.tenant_id = p_tenant and t.channel::text = p_channel and t.message_class::text = p_class and x.retired_at is null),
      (select min(x.id) from sendledger.route x
        where x.channel::text = p_channel and x.retired_at is null having count(*) = 1))
  end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.supersede_codes(p_ids bigint[], p_created_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
 SET enable_nestloop TO 'on'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  newest bigint[];
  tenants text[];
  recipients text[];
  purposes text[];
  older bigint[];
  o_from timestamptz;
  o_to timestamptz;
  held bigint[];
  h_from timestamptz;
  h_to timestamptz;
  given_back bigint[];
  left_over integer;
  turn bigint;
  patience timestamptz := clock_timestamp() + interval '300 ms';
begin
  -- Of two in one call the later one is the newer.
  select array_agg(n.id), array_agg(n.tenant_id), array_agg(n.recipient), array_agg(n.event_type)
  into newest, tenants, recipients, purposes
  from (
    select distinct on (m.tenant_id, m.recipient, m.event_type) m.id, m.tenant_id, m.recipient, m.event_type
    from sendledger.outbound_message m
    where m.id = any (p_ids) and m.created_at = p_created_at
    order by m.tenant_id, m.recipient, m.event_type, array_position(p_ids, m.id) desc
  ) n;

  if cardinality(newest) <= 32 then
    for turn in
      select distinct hashtextextended(sendledger.key_part(x.t) || sendledger.key_part(x.r) || sendledger.key_part(x.p), 7202611) as h
      from unnest(tenants, recipients, purposes) as x(t, r, p) order by h
    loop
      while not pg_try_advisory_xact_lock(turn) loop
        exit when clock_timestamp() > patience;
        perform pg_sleep(0.003);
      end loop;
    end loop;
  end if;

  select array_agg(m.id), min(m.created_at), max(m.created_at) into older, o_from, o_to
  from sendledger.outbound_message m
  where m.recipient = any (recipients) and m.message_class = 'otp' and m.state in ('pending', 'retry', 'claimed')
    and m.id <> all (newest)
    and (m.tenant_id, m.recipient, m.event_type) in (select x.t, x.r, x.p from unnest(tenants, recipients, purposes) as x(t, r, p));
  if older is null then
    return;
  end if;

  patience := clock_timestamp() + interval '100 ms';
  loop
    select array_agg(m.submission_id), min(m.submission_created_at), max(m.submission_created_at) into held, h_from, h_to
    from sendledger.outbound_message m
    where m.id = any (older) and m.created_at >= o_from and m.created_at <= o_to and m.state::text = 'claimed';
    if held is not null then
      -- The submission first; a code has it to itself.
      with locked as materialized (
        select s.id from sendledger.submission s
        where s.id = any (held) and s.created_at >= h_from and s.created_at <= h_to and s.state::text = 'open'
        order by s.id
        for update skip locked
      ), closed as (
        update sendledger.submission s set state = 'released'
        where s.id = any (array(select l.id from locked l)) and s.created_at >= h_from and s.created_at <= h_to and s.state::text = 'open'
        returning s.id
      )
      select array_agg(x.id) into given_back from closed x;
      update sendledger.outbound_message m
      set state = 'pending', submission_id = null, submission_created_at = null, updated_at = now()
      where m.submission_id = any (given_back) and m.state = 'claimed';
    end if;

    with free as materialized (
      select m.id from sendledger.outbound_message m
      where m.id = any (older) and m.created_at >= o_from and m.created_at <= o_to and m.state::text in ('pending', 'retry')
      order by m.id
      for update skip locked
    )
    update sendledger.outbound_message m set state = 'cancelled', state_reason = 'superseded_by_newer_code', updated_at = now()
    where m.id = any (array(select f.id from free f)) and m.created_at >= o_from and m.created_at <= o_to and m.state::text in ('pending', 'retry');

    -- A claim that was under way is over in a moment, and what it claimed can be released then.
    select count(*) into left_over
    from sendledger.outbound_message m
    left join sendledger.submission s on s.id = m.submission_id and s.created_at = m.submission_created_at
    where m.id = any (older) and m.created_at >= o_from and m.created_at <= o_to
      and (m.state::text in ('pending', 'retry') or (m.state::text = 'claimed' and s.state::text = 'open'));
    exit when left_over = 0 or clock_timestamp() > patience;
    perform pg_sleep(0.003);
  end loop;

  insert into sendledger.cancellation (tenant_id, kind, message_id, requested_by, reason)
  select m.tenant_id, 'message', m.id, 'sendledger', 'superseded_by_newer_code' from sendledger.outbound_message m
  where m.id = any (older) and m.created_at >= o_from and m.created_at <= o_to and m.state::text in ('pending', 'retry', 'claimed')
    and not exists (select from sendledger.cancellation c where c.kind = 'message' and c.message_id = m.id);
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.wall_clock(p_local timestamp without time zone, p_zone text, OUT first timestamp with time zone, OUT earlier timestamp with time zone, OUT later timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
declare
  at timestamptz := p_local at time zone 'UTC';
  day_before timestamptz := at - interval '1 day';
  day_after timestamptz := at + interval '1 day';
  -- By the offset of the day before, and of the day after.
  before timestamptz := at - ((day_before at time zone p_zone) - (day_before at time zone 'UTC'));
  after timestamptz := at - ((day_after at time zone p_zone) - (day_after at time zone 'UTC'));
  before_is_right boolean := before at time zone p_zone = p_local;
  after_is_right boolean := after at time zone p_zone = p_local;
begin
  first := case when before_is_right or not after_is_right then before else after end;
  if before_is_right = after_is_right then
    earlier := least(before, after);
    later := greatest(before, after);
  else
    earlier := first;
    later := first;
  end if;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.window_at(p_at timestamp with time zone, p_opens time without time zone, p_closes time without time zone, p_zone text, OUT opens_at timestamp with time zone, OUT closes_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'sendledger', 'pg_temp'
AS $function$
declare
  -- The window of yesterday may still be open, over midnight. One that a spring swallowed is passed over.
  day date := (p_at at time zone p_zone)::date - 1;
  over_midnight interval := case when p_closes <= p_opens then interval '1 day' else interval '0' end;
begin
  for i in 1..5 loop
    select w.earlier into closes_at from sendledger.wall_clock(day + p_closes + over_midnight, p_zone) w;
    if closes_at > p_at then
      select w.later into opens_at from sendledger.wall_clock(day + p_opens, p_zone) w;
      if opens_at < closes_at then
        return;
      end if;
    end if;
    day := day + 1;
  end loop;
end
$function$;
-- owner sendledger_owner
CREATE OR REPLACE FUNCTION sendledger.zone_or_null(p_zone text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
begin
  -- A bare offset, an abbreviation or a formula like America/Nowhere+5 would be read, and knows no summer time.
  if p_zone !~ '^([A-Za-z_]+(/[A-Za-z_\-]+)+|Etc/GMT[+-][0-9]{1,2}|UTC|GMT)$' then
    return null;
  end if;
  perform now() at time zone p_zone;
  return p_zone;
exception when data_exception then
  return null;
end
$function$;

comment on column sendledger.route.hold is 'Nothing of this route is marked while set. Whoever sets it writes this row, so that a mark waits for it or sees it.';

grant delete on table sendledger.absence_watch to sendledger_reconcile;
grant execute on function sendledger.ask_cancel_held(text,bigint) to sendledger_cli;
grant execute on function sendledger.ask_cancel_held(text,bigint) to sendledger_ops;
grant execute on function sendledger.ask_cancel_held(text,bigint) to sendledger_producer;
grant execute on function sendledger.ask_cancel_held(text,bigint) to sendledger_reconcile;
grant execute on function sendledger.attempt_key_of(bigint,uuid) to sendledger_import;
grant execute on function sendledger.business_key(text,text,text,text,text,text,text,text) to sendledger_cli;
grant execute on function sendledger.business_key(text,text,text,text,text,text,text,text) to sendledger_import;
grant execute on function sendledger.business_key(text,text,text,text,text,text,text,text) to sendledger_producer;
grant execute on function sendledger.business_key(text,text,text,text,text,text,text,text) to sendledger_reconcile;
grant execute on function sendledger.cancel_answer(text,bigint,integer) to sendledger_cli;
grant execute on function sendledger.cancel_answer(text,bigint,integer) to sendledger_ops;
grant execute on function sendledger.cancel_answer(text,bigint,integer) to sendledger_producer;
grant execute on function sendledger.cancel_preview(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone) to sendledger_cli;
grant execute on function sendledger.cancel_preview(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone) to sendledger_ops;
grant execute on function sendledger.cancel_preview(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone) to sendledger_producer;
grant execute on function sendledger.cancel_step(text,bigint,timestamp with time zone,bigint,integer,boolean) to sendledger_cli;
grant execute on function sendledger.cancel_step(text,bigint,timestamp with time zone,bigint,integer,boolean) to sendledger_ops;
grant execute on function sendledger.cancel_step(text,bigint,timestamp with time zone,bigint,integer,boolean) to sendledger_producer;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_backfill;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_claim;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_cli;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_ops;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_reconcile;
grant execute on function sendledger.due_in_window(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_submit;
grant execute on function sendledger.enqueue(json) to sendledger_cli;
grant execute on function sendledger.enqueue(json) to sendledger_producer;
grant execute on function sendledger.enqueue_all(json) to sendledger_cli;
grant execute on function sendledger.enqueue_all(json) to sendledger_producer;
grant execute on function sendledger.ensure_months(integer) to sendledger_reconcile;
grant execute on function sendledger.fall_back(bigint,timestamp with time zone) to sendledger_reconcile;
grant execute on function sendledger.find_messages(text,bigint,text,text,text,integer) to sendledger_cli;
grant execute on function sendledger.find_messages(text,bigint,text,text,text,integer) to sendledger_ops;
grant execute on function sendledger.find_messages(text,bigint,text,text,text,integer) to sendledger_producer;
grant execute on function sendledger.key_part(text) to sendledger_cli;
grant execute on function sendledger.key_part(text) to sendledger_import;
grant execute on function sendledger.key_part(text) to sendledger_producer;
grant execute on function sendledger.key_part(text) to sendledger_reconcile;
grant execute on function sendledger.lock_keys_of(bigint[],timestamp with time zone,timestamp with time zone) to sendledger_backfill;
grant execute on function sendledger.lock_keys_of(bigint[],timestamp with time zone,timestamp with time zone) to sendledger_cli;
grant execute on function sendledger.lock_keys_of(bigint[],timestamp with time zone,timestamp with time zone) to sendledger_ops;
grant execute on function sendledger.lock_keys_of(bigint[],timestamp with time zone,timestamp with time zone) to sendledger_reconcile;
grant execute on function sendledger.lock_keys_of(bigint[],timestamp with time zone,timestamp with time zone) to sendledger_submit;
grant execute on function sendledger.mark_next(bigint,sendledger.message_class,integer,text,bigint,double precision,bigint) to sendledger_submit;
grant execute on function sendledger.move_schedule(text,bigint,text,text,boolean,text,text) to sendledger_cli;
grant execute on function sendledger.move_schedule(text,bigint,text,text,boolean,text,text) to sendledger_ops;
grant execute on function sendledger.move_schedule(text,bigint,text,text,boolean,text,text) to sendledger_producer;
grant execute on function sendledger.record_cancellation(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone,text,text,bigint) to sendledger_cli;
grant execute on function sendledger.record_cancellation(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone,text,text,bigint) to sendledger_ops;
grant execute on function sendledger.record_cancellation(text,text,bigint,text,text,text,text,sendledger.message_class,timestamp with time zone,text,text,bigint) to sendledger_producer;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_backfill;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_claim;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_cli;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_ops;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_reconcile;
grant execute on function sendledger.replaced_was_cancelled(bigint,timestamp with time zone,timestamp with time zone) to sendledger_submit;
grant execute on function sendledger.replay(bigint,timestamp with time zone,text,text,boolean,boolean,timestamp with time zone,text,text) to sendledger_backfill;
grant execute on function sendledger.replay(bigint,timestamp with time zone,text,text,boolean,boolean,timestamp with time zone,text,text) to sendledger_cli;
grant execute on function sendledger.replay(bigint,timestamp with time zone,text,text,boolean,boolean,timestamp with time zone,text,text) to sendledger_ops;
grant execute on function sendledger.replay(bigint,timestamp with time zone,text,text,boolean,boolean,timestamp with time zone,text,text) to sendledger_reconcile;
grant execute on function sendledger.replay(bigint,timestamp with time zone,text,text,boolean,boolean,timestamp with time zone,text,text) to sendledger_submit;
grant execute on function sendledger.replay_own(text,bigint,timestamp with time zone,text,text,boolean,timestamp with time zone,text) to sendledger_cli;
grant execute on function sendledger.replay_own(text,bigint,timestamp with time zone,text,text,boolean,timestamp with time zone,text) to sendledger_ops;
grant execute on function sendledger.replay_own(text,bigint,timestamp with time zone,text,text,boolean,timestamp with time zone,text) to sendledger_producer;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_backfill;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_claim;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_cli;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_ops;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_reconcile;
grant execute on function sendledger.wall_clock(timestamp without time zone,text) to sendledger_submit;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_backfill;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_claim;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_cli;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_ops;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_reconcile;
grant execute on function sendledger.window_at(timestamp with time zone,time without time zone,time without time zone,text) to sendledger_submit;
grant execute on function sendledger.zone_or_null(text) to sendledger_backfill;
grant execute on function sendledger.zone_or_null(text) to sendledger_claim;
grant execute on function sendledger.zone_or_null(text) to sendledger_cli;
grant execute on function sendledger.zone_or_null(text) to sendledger_ops;
grant execute on function sendledger.zone_or_null(text) to sendledger_reconcile;
grant execute on function sendledger.zone_or_null(text) to sendledger_submit;
grant insert on table sendledger.absence_watch to sendledger_backfill;
grant insert on table sendledger.absence_watch to sendledger_cli;
grant insert on table sendledger.absence_watch to sendledger_ops;
grant insert on table sendledger.absence_watch to sendledger_reconcile;
grant insert on table sendledger.audit to sendledger_reconcile;
grant insert on table sendledger.audit_log to sendledger_backfill;
grant insert on table sendledger.audit_log to sendledger_cli;
grant insert on table sendledger.audit_log to sendledger_ops;
grant insert on table sendledger.audit_log to sendledger_reconcile;
grant insert on table sendledger.audit_log to sendledger_submit;
grant insert on table sendledger.cancellation to sendledger_backfill;
grant insert on table sendledger.cancellation to sendledger_cli;
grant insert on table sendledger.cancellation to sendledger_ops;
grant insert on table sendledger.cancellation to sendledger_reconcile;
grant insert on table sendledger.charge_adjustment to sendledger_backfill;
grant insert on table sendledger.charge_adjustment to sendledger_cli;
grant insert on table sendledger.charge_adjustment to sendledger_ops;
grant insert on table sendledger.charge_adjustment to sendledger_reconcile;
grant insert on table sendledger.delivery_receipt to sendledger_backfill;
grant insert on table sendledger.delivery_receipt to sendledger_reconcile;
grant insert on table sendledger.delivery_receipt to sendledger_submit;
grant insert on table sendledger.job_bad_row to sendledger_backfill;
grant insert on table sendledger.job_checkpoint to sendledger_cli;
grant insert on table sendledger.job_checkpoint to sendledger_ops;
grant insert on table sendledger.job_receipt to sendledger_backfill;
grant insert on table sendledger.job_run to sendledger_cli;
grant insert on table sendledger.job_run to sendledger_ops;
grant insert on table sendledger.lane to sendledger_cli;
grant insert on table sendledger.message_key to sendledger_import;
grant insert on table sendledger.message_template to sendledger_cli;
grant insert on table sendledger.outbound_message to sendledger_import;
grant insert on table sendledger.provider_message to sendledger_backfill;
grant insert on table sendledger.provider_message to sendledger_cli;
grant insert on table sendledger.provider_message to sendledger_ops;
grant insert on table sendledger.provider_message to sendledger_reconcile;
grant insert on table sendledger.rate_card to sendledger_cli;
grant insert on table sendledger.review_item to sendledger_backfill;
grant insert on table sendledger.review_item to sendledger_claim;
grant insert on table sendledger.review_item to sendledger_cli;
grant insert on table sendledger.review_item to sendledger_ops;
grant insert on table sendledger.review_item to sendledger_reconcile;
grant insert on table sendledger.review_item to sendledger_submit;
grant insert on table sendledger.route to sendledger_cli;
grant insert on table sendledger.schedule_change to sendledger_reconcile;
grant insert on table sendledger.submission to sendledger_claim;
grant insert on table sendledger.submission to sendledger_import;
grant insert on table sendledger.tenant to sendledger_cli;
grant insert on table sendledger.tenant_route to sendledger_cli;
grant insert on table sendledger.worker to sendledger_backfill;
grant insert on table sendledger.worker to sendledger_claim;
grant insert on table sendledger.worker to sendledger_ops;
grant insert on table sendledger.worker to sendledger_reconcile;
grant insert on table sendledger.worker to sendledger_submit;
grant select on table sendledger.absence_watch to sendledger_backfill;
grant select on table sendledger.absence_watch to sendledger_cli;
grant select on table sendledger.absence_watch to sendledger_ops;
grant select on table sendledger.absence_watch to sendledger_reconcile;
grant select on table sendledger.audit to sendledger_cli;
grant select on table sendledger.audit to sendledger_ops;
grant select on table sendledger.audit to sendledger_reconcile;
grant select on table sendledger.audit_log to sendledger_backfill;
grant select on table sendledger.audit_log to sendledger_cli;
grant select on table sendledger.audit_log to sendledger_ops;
grant select on table sendledger.audit_log to sendledger_reconcile;
grant select on table sendledger.audit_log to sendledger_submit;
grant select on table sendledger.cancellation to sendledger_backfill;
grant select on table sendledger.cancellation to sendledger_claim;
grant select on table sendledger.cancellation to sendledger_cli;
grant select on table sendledger.cancellation to sendledger_import;
grant select on table sendledger.cancellation to sendledger_ops;
grant select on table sendledger.cancellation to sendledger_reconcile;
grant select on table sendledger.cancellation to sendledger_submit;
grant select on table sendledger.census to sendledger_cli;
grant select on table sendledger.census to sendledger_ops;
grant select on table sendledger.charge_adjustment to sendledger_backfill;
grant select on table sendledger.charge_adjustment to sendledger_cli;
grant select on table sendledger.charge_adjustment to sendledger_ops;
grant select on table sendledger.charge_adjustment to sendledger_reconcile;
grant select on table sendledger.dataset_epoch to sendledger_backfill;
grant select on table sendledger.dataset_epoch to sendledger_claim;
grant select on table sendledger.dataset_epoch to sendledger_cli;
grant select on table sendledger.dataset_epoch to sendledger_import;
grant select on table sendledger.dataset_epoch to sendledger_ops;
grant select on table sendledger.dataset_epoch to sendledger_reconcile;
grant select on table sendledger.dataset_epoch to sendledger_submit;
grant select on table sendledger.delivery_receipt to sendledger_backfill;
grant select on table sendledger.delivery_receipt to sendledger_cli;
grant select on table sendledger.delivery_receipt to sendledger_ops;
grant select on table sendledger.delivery_receipt to sendledger_reconcile;
grant select on table sendledger.delivery_receipt to sendledger_submit;
grant select on table sendledger.delivery_receipt_default to sendledger_cli;
grant select on table sendledger.delivery_receipt_default to sendledger_ops;
grant select on table sendledger.delivery_receipt_default to sendledger_reconcile;
grant select on table sendledger.fallback to sendledger_cli;
grant select on table sendledger.fallback to sendledger_ops;
grant select on table sendledger.fallback to sendledger_reconcile;
grant select on table sendledger.job_bad_row to sendledger_backfill;
grant select on table sendledger.job_bad_row to sendledger_cli;
grant select on table sendledger.job_bad_row to sendledger_ops;
grant select on table sendledger.job_checkpoint to sendledger_backfill;
grant select on table sendledger.job_checkpoint to sendledger_cli;
grant select on table sendledger.job_checkpoint to sendledger_ops;
grant select on table sendledger.job_receipt to sendledger_backfill;
grant select on table sendledger.job_receipt to sendledger_cli;
grant select on table sendledger.job_receipt to sendledger_ops;
grant select on table sendledger.job_run to sendledger_backfill;
grant select on table sendledger.job_run to sendledger_cli;
grant select on table sendledger.job_run to sendledger_ops;
grant select on table sendledger.lane to sendledger_backfill;
grant select on table sendledger.lane to sendledger_claim;
grant select on table sendledger.lane to sendledger_cli;
grant select on table sendledger.lane to sendledger_import;
grant select on table sendledger.lane to sendledger_ops;
grant select on table sendledger.lane to sendledger_reconcile;
grant select on table sendledger.lane to sendledger_submit;
grant select on table sendledger.message_key to sendledger_backfill;
grant select on table sendledger.message_key to sendledger_cli;
grant select on table sendledger.message_key to sendledger_import;
grant select on table sendledger.message_key to sendledger_ops;
grant select on table sendledger.message_key to sendledger_reconcile;
grant select on table sendledger.message_key_0 to sendledger_cli;
grant select on table sendledger.message_key_0 to sendledger_ops;
grant select on table sendledger.message_key_1 to sendledger_cli;
grant select on table sendledger.message_key_1 to sendledger_ops;
grant select on table sendledger.message_key_2 to sendledger_cli;
grant select on table sendledger.message_key_2 to sendledger_ops;
grant select on table sendledger.message_key_3 to sendledger_cli;
grant select on table sendledger.message_key_3 to sendledger_ops;
grant select on table sendledger.message_key_4 to sendledger_cli;
grant select on table sendledger.message_key_4 to sendledger_ops;
grant select on table sendledger.message_key_5 to sendledger_cli;
grant select on table sendledger.message_key_5 to sendledger_ops;
grant select on table sendledger.message_key_6 to sendledger_cli;
grant select on table sendledger.message_key_6 to sendledger_ops;
grant select on table sendledger.message_key_7 to sendledger_cli;
grant select on table sendledger.message_key_7 to sendledger_ops;
grant select on table sendledger.message_template to sendledger_backfill;
grant select on table sendledger.message_template to sendledger_claim;
grant select on table sendledger.message_template to sendledger_cli;
grant select on table sendledger.message_template to sendledger_import;
grant select on table sendledger.message_template to sendledger_ops;
grant select on table sendledger.message_template to sendledger_producer;
grant select on table sendledger.message_template to sendledger_reconcile;
grant select on table sendledger.message_template to sendledger_submit;
grant select on table sendledger.outbound_message to sendledger_backfill;
grant select on table sendledger.outbound_message to sendledger_claim;
grant select on table sendledger.outbound_message to sendledger_cli;
grant select on table sendledger.outbound_message to sendledger_import;
grant select on table sendledger.outbound_message to sendledger_ops;
grant select on table sendledger.outbound_message to sendledger_reconcile;
grant select on table sendledger.outbound_message to sendledger_submit;
grant select on table sendledger.outbound_message_default to sendledger_cli;
grant select on table sendledger.outbound_message_default to sendledger_ops;
grant select on table sendledger.outbound_message_default to sendledger_reconcile;
grant select on table sendledger.provider_message to sendledger_backfill;
grant select on table sendledger.provider_message to sendledger_cli;
grant select on table sendledger.provider_message to sendledger_ops;
grant select on table sendledger.provider_message to sendledger_reconcile;
grant select on table sendledger.rate_card to sendledger_backfill;
grant select on table sendledger.rate_card to sendledger_claim;
grant select on table sendledger.rate_card to sendledger_cli;
grant select on table sendledger.rate_card to sendledger_import;
grant select on table sendledger.rate_card to sendledger_ops;
grant select on table sendledger.rate_card to sendledger_reconcile;
grant select on table sendledger.rate_card to sendledger_submit;
grant select on table sendledger.review_item to sendledger_backfill;
grant select on table sendledger.review_item to sendledger_claim;
grant select on table sendledger.review_item to sendledger_cli;
grant select on table sendledger.review_item to sendledger_ops;
grant select on table sendledger.review_item to sendledger_reconcile;
grant select on table sendledger.review_item to sendledger_submit;
grant select on table sendledger.route to sendledger_backfill;
grant select on table sendledger.route to sendledger_claim;
grant select on table sendledger.route to sendledger_cli;
grant select on table sendledger.route to sendledger_import;
grant select on table sendledger.route to sendledger_ops;
grant select on table sendledger.route to sendledger_reconcile;
grant select on table sendledger.route to sendledger_submit;
grant select on table sendledger.schedule_change to sendledger_cli;
grant select on table sendledger.schedule_change to sendledger_ops;
grant select on table sendledger.schedule_change to sendledger_reconcile;
grant select on table sendledger.submission to sendledger_backfill;
grant select on table sendledger.submission to sendledger_claim;
grant select on table sendledger.submission to sendledger_cli;
grant select on table sendledger.submission to sendledger_import;
grant select on table sendledger.submission to sendledger_ops;
grant select on table sendledger.submission to sendledger_reconcile;
grant select on table sendledger.submission to sendledger_submit;
grant select on table sendledger.submission_default to sendledger_cli;
grant select on table sendledger.submission_default to sendledger_ops;
grant select on table sendledger.submission_default to sendledger_reconcile;
grant select on table sendledger.tenant to sendledger_backfill;
grant select on table sendledger.tenant to sendledger_claim;
grant select on table sendledger.tenant to sendledger_cli;
grant select on table sendledger.tenant to sendledger_import;
grant select on table sendledger.tenant to sendledger_ops;
grant select on table sendledger.tenant to sendledger_producer;
grant select on table sendledger.tenant to sendledger_reconcile;
grant select on table sendledger.tenant to sendledger_submit;
grant select on table sendledger.tenant_route to sendledger_backfill;
grant select on table sendledger.tenant_route to sendledger_claim;
grant select on table sendledger.tenant_route to sendledger_cli;
grant select on table sendledger.tenant_route to sendledger_import;
grant select on table sendledger.tenant_route to sendledger_ops;
grant select on table sendledger.tenant_route to sendledger_reconcile;
grant select on table sendledger.tenant_route to sendledger_submit;
grant select on table sendledger.worker to sendledger_backfill;
grant select on table sendledger.worker to sendledger_claim;
grant select on table sendledger.worker to sendledger_cli;
grant select on table sendledger.worker to sendledger_ops;
grant select on table sendledger.worker to sendledger_reconcile;
grant select on table sendledger.worker to sendledger_submit;
grant update on column sendledger.census.counted_at to sendledger_ops;
grant update on column sendledger.census.figures to sendledger_ops;
grant update on column sendledger.census.held_until to sendledger_ops;
grant update on column sendledger.census.holder to sendledger_ops;
grant update on column sendledger.census.took_ms to sendledger_ops;
grant update on column sendledger.delivery_receipt.applied_at to sendledger_backfill;
grant update on column sendledger.delivery_receipt.applied_at to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.cause_class to sendledger_backfill;
grant update on column sendledger.delivery_receipt.cause_class to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.cause_class to sendledger_submit;
grant update on column sendledger.delivery_receipt.conflict to sendledger_backfill;
grant update on column sendledger.delivery_receipt.conflict to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.hint to sendledger_backfill;
grant update on column sendledger.delivery_receipt.hint to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.looks to sendledger_backfill;
grant update on column sendledger.delivery_receipt.looks to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.message_created_at to sendledger_backfill;
grant update on column sendledger.delivery_receipt.message_created_at to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.message_id to sendledger_backfill;
grant update on column sendledger.delivery_receipt.message_id to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.next_look_at to sendledger_backfill;
grant update on column sendledger.delivery_receipt.next_look_at to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.status to sendledger_backfill;
grant update on column sendledger.delivery_receipt.status to sendledger_reconcile;
grant update on column sendledger.delivery_receipt.status to sendledger_submit;
grant update on column sendledger.fallback.look_at to sendledger_reconcile;
grant update on column sendledger.job_checkpoint.applied to sendledger_backfill;
grant update on column sendledger.job_checkpoint.asked_at to sendledger_backfill;
grant update on column sendledger.job_checkpoint.bad_rows to sendledger_backfill;
grant update on column sendledger.job_checkpoint.bytes_read to sendledger_backfill;
grant update on column sendledger.job_checkpoint.error to sendledger_backfill;
grant update on column sendledger.job_checkpoint.error_kind to sendledger_backfill;
grant update on column sendledger.job_checkpoint.finished_at to sendledger_backfill;
grant update on column sendledger.job_checkpoint.finished_at to sendledger_cli;
grant update on column sendledger.job_checkpoint.finished_at to sendledger_ops;
grant update on column sendledger.job_checkpoint.fresh to sendledger_backfill;
grant update on column sendledger.job_checkpoint.lease_token to sendledger_backfill;
grant update on column sendledger.job_checkpoint.lease_token to sendledger_cli;
grant update on column sendledger.job_checkpoint.lease_token to sendledger_ops;
grant update on column sendledger.job_checkpoint.lease_until to sendledger_backfill;
grant update on column sendledger.job_checkpoint.lease_until to sendledger_cli;
grant update on column sendledger.job_checkpoint.lease_until to sendledger_ops;
grant update on column sendledger.job_checkpoint.next_at to sendledger_backfill;
grant update on column sendledger.job_checkpoint.orphans to sendledger_backfill;
grant update on column sendledger.job_checkpoint.receipts to sendledger_backfill;
grant update on column sendledger.job_checkpoint.rows_read to sendledger_backfill;
grant update on column sendledger.job_checkpoint.state to sendledger_backfill;
grant update on column sendledger.job_checkpoint.state to sendledger_cli;
grant update on column sendledger.job_checkpoint.state to sendledger_ops;
grant update on column sendledger.job_checkpoint.stored_at to sendledger_backfill;
grant update on column sendledger.job_checkpoint.tries to sendledger_backfill;
grant update on column sendledger.job_checkpoint.unmapped_columns to sendledger_backfill;
grant update on column sendledger.job_checkpoint.worker_id to sendledger_backfill;
grant update on column sendledger.job_checkpoint.worker_id to sendledger_cli;
grant update on column sendledger.job_checkpoint.worker_id to sendledger_ops;
grant update on column sendledger.job_run.cancelled_at to sendledger_cli;
grant update on column sendledger.job_run.cancelled_at to sendledger_ops;
grant update on column sendledger.job_run.cancelled_by to sendledger_cli;
grant update on column sendledger.job_run.cancelled_by to sendledger_ops;
grant update on column sendledger.outbound_message.attempt_count to sendledger_submit;
grant update on column sendledger.outbound_message.billable_units to sendledger_cli;
grant update on column sendledger.outbound_message.billable_units to sendledger_ops;
grant update on column sendledger.outbound_message.billable_units to sendledger_submit;
grant update on column sendledger.outbound_message.billed_after_close_at to sendledger_cli;
grant update on column sendledger.outbound_message.billed_after_close_at to sendledger_ops;
grant update on column sendledger.outbound_message.billed_after_close_at to sendledger_submit;
grant update on column sendledger.outbound_message.claimed_at to sendledger_claim;
grant update on column sendledger.outbound_message.conflict to sendledger_cli;
grant update on column sendledger.outbound_message.conflict to sendledger_ops;
grant update on column sendledger.outbound_message.conflict to sendledger_submit;
grant update on column sendledger.outbound_message.correlation_result to sendledger_cli;
grant update on column sendledger.outbound_message.correlation_result to sendledger_ops;
grant update on column sendledger.outbound_message.correlation_window_ms to sendledger_cli;
grant update on column sendledger.outbound_message.correlation_window_ms to sendledger_ops;
grant update on column sendledger.outbound_message.cost to sendledger_cli;
grant update on column sendledger.outbound_message.cost to sendledger_ops;
grant update on column sendledger.outbound_message.cost to sendledger_submit;
grant update on column sendledger.outbound_message.cost_currency to sendledger_cli;
grant update on column sendledger.outbound_message.cost_currency to sendledger_ops;
grant update on column sendledger.outbound_message.cost_currency to sendledger_submit;
grant update on column sendledger.outbound_message.cost_source to sendledger_cli;
grant update on column sendledger.outbound_message.cost_source to sendledger_ops;
grant update on column sendledger.outbound_message.cost_source to sendledger_submit;
grant update on column sendledger.outbound_message.due_at to sendledger_claim;
grant update on column sendledger.outbound_message.due_at to sendledger_cli;
grant update on column sendledger.outbound_message.due_at to sendledger_submit;
grant update on column sendledger.outbound_message.held_by to sendledger_claim;
grant update on column sendledger.outbound_message.provider_cause to sendledger_submit;
grant update on column sendledger.outbound_message.provider_message_id to sendledger_cli;
grant update on column sendledger.outbound_message.provider_message_id to sendledger_ops;
grant update on column sendledger.outbound_message.provider_status_code to sendledger_submit;
grant update on column sendledger.outbound_message.provider_txn_id to sendledger_cli;
grant update on column sendledger.outbound_message.provider_txn_id to sendledger_ops;
grant update on column sendledger.outbound_message.provider_txn_id to sendledger_submit;
grant update on column sendledger.outbound_message.quoted_cost to sendledger_claim;
grant update on column sendledger.outbound_message.quoted_currency to sendledger_claim;
grant update on column sendledger.outbound_message.quoted_units to sendledger_claim;
grant update on column sendledger.outbound_message.receipt_by to sendledger_cli;
grant update on column sendledger.outbound_message.receipt_by to sendledger_ops;
grant update on column sendledger.outbound_message.receipt_by to sendledger_submit;
grant update on column sendledger.outbound_message.reconciled_at to sendledger_cli;
grant update on column sendledger.outbound_message.reconciled_at to sendledger_ops;
grant update on column sendledger.outbound_message.reconciled_at to sendledger_submit;
grant update on column sendledger.outbound_message.requested_at to sendledger_submit;
grant update on column sendledger.outbound_message.state to sendledger_claim;
grant update on column sendledger.outbound_message.state to sendledger_cli;
grant update on column sendledger.outbound_message.state to sendledger_ops;
grant update on column sendledger.outbound_message.state to sendledger_submit;
grant update on column sendledger.outbound_message.state_reason to sendledger_claim;
grant update on column sendledger.outbound_message.state_reason to sendledger_cli;
grant update on column sendledger.outbound_message.state_reason to sendledger_ops;
grant update on column sendledger.outbound_message.state_reason to sendledger_submit;
grant update on column sendledger.outbound_message.submission_created_at to sendledger_claim;
grant update on column sendledger.outbound_message.submission_created_at to sendledger_cli;
grant update on column sendledger.outbound_message.submission_created_at to sendledger_ops;
grant update on column sendledger.outbound_message.submission_created_at to sendledger_submit;
grant update on column sendledger.outbound_message.submission_id to sendledger_claim;
grant update on column sendledger.outbound_message.submission_id to sendledger_cli;
grant update on column sendledger.outbound_message.submission_id to sendledger_ops;
grant update on column sendledger.outbound_message.submission_id to sendledger_submit;
grant update on column sendledger.outbound_message.submitted_at to sendledger_cli;
grant update on column sendledger.outbound_message.submitted_at to sendledger_ops;
grant update on column sendledger.outbound_message.submitted_at to sendledger_submit;
grant update on column sendledger.outbound_message.updated_at to sendledger_claim;
grant update on column sendledger.outbound_message.updated_at to sendledger_cli;
grant update on column sendledger.outbound_message.updated_at to sendledger_ops;
grant update on column sendledger.outbound_message.updated_at to sendledger_submit;
grant update on column sendledger.review_item.evidence to sendledger_backfill;
grant update on column sendledger.review_item.evidence to sendledger_claim;
grant update on column sendledger.review_item.evidence to sendledger_cli;
grant update on column sendledger.review_item.evidence to sendledger_ops;
grant update on column sendledger.review_item.evidence to sendledger_reconcile;
grant update on column sendledger.review_item.evidence to sendledger_submit;
grant update on column sendledger.review_item.note to sendledger_backfill;
grant update on column sendledger.review_item.note to sendledger_claim;
grant update on column sendledger.review_item.note to sendledger_cli;
grant update on column sendledger.review_item.note to sendledger_ops;
grant update on column sendledger.review_item.note to sendledger_reconcile;
grant update on column sendledger.review_item.note to sendledger_submit;
grant update on column sendledger.review_item.resolution to sendledger_backfill;
grant update on column sendledger.review_item.resolution to sendledger_claim;
grant update on column sendledger.review_item.resolution to sendledger_cli;
grant update on column sendledger.review_item.resolution to sendledger_ops;
grant update on column sendledger.review_item.resolution to sendledger_reconcile;
grant update on column sendledger.review_item.resolution to sendledger_submit;
grant update on column sendledger.review_item.resolved_at to sendledger_backfill;
grant update on column sendledger.review_item.resolved_at to sendledger_claim;
grant update on column sendledger.review_item.resolved_at to sendledger_cli;
grant update on column sendledger.review_item.resolved_at to sendledger_ops;
grant update on column sendledger.review_item.resolved_at to sendledger_reconcile;
grant update on column sendledger.review_item.resolved_at to sendledger_submit;
grant update on column sendledger.review_item.resolved_by to sendledger_backfill;
grant update on column sendledger.review_item.resolved_by to sendledger_claim;
grant update on column sendledger.review_item.resolved_by to sendledger_cli;
grant update on column sendledger.review_item.resolved_by to sendledger_ops;
grant update on column sendledger.review_item.resolved_by to sendledger_reconcile;
grant update on column sendledger.review_item.resolved_by to sendledger_submit;
grant update on column sendledger.route.breaker_closed_at to sendledger_backfill;
grant update on column sendledger.route.breaker_closed_at to sendledger_reconcile;
grant update on column sendledger.route.breaker_closed_at to sendledger_submit;
grant update on column sendledger.route.breaker_failures to sendledger_backfill;
grant update on column sendledger.route.breaker_failures to sendledger_reconcile;
grant update on column sendledger.route.breaker_failures to sendledger_submit;
grant update on column sendledger.route.breaker_opened_at to sendledger_backfill;
grant update on column sendledger.route.breaker_opened_at to sendledger_reconcile;
grant update on column sendledger.route.breaker_opened_at to sendledger_submit;
grant update on column sendledger.route.breaker_reason to sendledger_backfill;
grant update on column sendledger.route.breaker_reason to sendledger_reconcile;
grant update on column sendledger.route.breaker_reason to sendledger_submit;
grant update on column sendledger.route.breaker_state to sendledger_backfill;
grant update on column sendledger.route.breaker_state to sendledger_reconcile;
grant update on column sendledger.route.breaker_state to sendledger_submit;
grant update on column sendledger.route.clock_offset_ms to sendledger_backfill;
grant update on column sendledger.route.clock_offset_ms to sendledger_reconcile;
grant update on column sendledger.route.clock_pairs to sendledger_backfill;
grant update on column sendledger.route.clock_pairs to sendledger_reconcile;
grant update on column sendledger.route.clock_seen_at to sendledger_backfill;
grant update on column sendledger.route.clock_seen_at to sendledger_reconcile;
grant update on column sendledger.route.probe_at to sendledger_backfill;
grant update on column sendledger.route.probe_at to sendledger_reconcile;
grant update on column sendledger.route.probe_at to sendledger_submit;
grant update on column sendledger.route.probe_forced to sendledger_backfill;
grant update on column sendledger.route.probe_forced to sendledger_reconcile;
grant update on column sendledger.route.probe_forced to sendledger_submit;
grant update on column sendledger.route.probes to sendledger_backfill;
grant update on column sendledger.route.probes to sendledger_reconcile;
grant update on column sendledger.route.probes to sendledger_submit;
grant update on column sendledger.route.throttled_until to sendledger_submit;
grant update on column sendledger.route.updated_at to sendledger_backfill;
grant update on column sendledger.route.updated_at to sendledger_reconcile;
grant update on column sendledger.route.updated_at to sendledger_submit;
grant update on column sendledger.schedule_change.answered to sendledger_reconcile;
grant update on column sendledger.schedule_change.asks to sendledger_reconcile;
grant update on column sendledger.schedule_change.ended_at to sendledger_reconcile;
grant update on column sendledger.schedule_change.move_to to sendledger_reconcile;
grant update on column sendledger.schedule_change.next_at to sendledger_reconcile;
grant update on column sendledger.schedule_change.scheduled_for to sendledger_reconcile;
grant update on column sendledger.schedule_change.seen to sendledger_reconcile;
grant update on column sendledger.schedule_change.state to sendledger_reconcile;
grant update on column sendledger.submission.http_status to sendledger_submit;
grant update on column sendledger.submission.lease_token to sendledger_submit;
grant update on column sendledger.submission.lease_until to sendledger_submit;
grant update on column sendledger.submission.marked_by to sendledger_submit;
grant update on column sendledger.submission.outcome_proof to sendledger_cli;
grant update on column sendledger.submission.outcome_proof to sendledger_ops;
grant update on column sendledger.submission.outcome_proof to sendledger_submit;
grant update on column sendledger.submission.outcome_reason to sendledger_cli;
grant update on column sendledger.submission.outcome_reason to sendledger_ops;
grant update on column sendledger.submission.outcome_reason to sendledger_submit;
grant update on column sendledger.submission.poll_at to sendledger_claim;
grant update on column sendledger.submission.poll_at to sendledger_cli;
grant update on column sendledger.submission.poll_at to sendledger_ops;
grant update on column sendledger.submission.poll_at to sendledger_submit;
grant update on column sendledger.submission.provider_status_code to sendledger_submit;
grant update on column sendledger.submission.provider_txn_id to sendledger_cli;
grant update on column sendledger.submission.provider_txn_id to sendledger_ops;
grant update on column sendledger.submission.provider_txn_id to sendledger_submit;
grant update on column sendledger.submission.raw_reply to sendledger_submit;
grant update on column sendledger.submission.requested_at to sendledger_submit;
grant update on column sendledger.submission.responded_at to sendledger_cli;
grant update on column sendledger.submission.responded_at to sendledger_ops;
grant update on column sendledger.submission.responded_at to sendledger_submit;
grant update on column sendledger.submission.state to sendledger_claim;
grant update on column sendledger.submission.state to sendledger_cli;
grant update on column sendledger.submission.state to sendledger_ops;
grant update on column sendledger.submission.state to sendledger_submit;
grant update on column sendledger.worker.ended_at to sendledger_backfill;
grant update on column sendledger.worker.ended_at to sendledger_claim;
grant update on column sendledger.worker.ended_at to sendledger_ops;
grant update on column sendledger.worker.ended_at to sendledger_reconcile;
grant update on column sendledger.worker.ended_at to sendledger_submit;
grant update on column sendledger.worker.holds_from to sendledger_submit;
grant update on column sendledger.worker.holds_said_at to sendledger_submit;
grant update on column sendledger.worker.last_seen_at to sendledger_backfill;
grant update on column sendledger.worker.last_seen_at to sendledger_claim;
grant update on column sendledger.worker.last_seen_at to sendledger_ops;
grant update on column sendledger.worker.last_seen_at to sendledger_reconcile;
grant update on column sendledger.worker.last_seen_at to sendledger_submit;
grant update on column sendledger.worker.limiter to sendledger_submit;
grant update on table sendledger.absence_watch to sendledger_reconcile;
grant update on table sendledger.audit to sendledger_reconcile;
grant update on table sendledger.lane to sendledger_cli;
grant update on table sendledger.message_template to sendledger_cli;
grant update on table sendledger.outbound_message to sendledger_backfill;
grant update on table sendledger.outbound_message to sendledger_reconcile;
grant update on table sendledger.rate_card to sendledger_cli;
grant update on table sendledger.route to sendledger_cli;
grant update on table sendledger.submission to sendledger_backfill;
grant update on table sendledger.submission to sendledger_reconcile;
grant update on table sendledger.tenant to sendledger_cli;
grant update on table sendledger.tenant_route to sendledger_cli;
grant usage on schema sendledger to sendledger_backfill;
grant usage on schema sendledger to sendledger_claim;
grant usage on schema sendledger to sendledger_cli;
grant usage on schema sendledger to sendledger_import;
grant usage on schema sendledger to sendledger_ops;
grant usage on schema sendledger to sendledger_producer;
grant usage on schema sendledger to sendledger_reconcile;
grant usage on schema sendledger to sendledger_submit;
grant usage on sequence sendledger.message_id_seq to sendledger_import;
grant usage on sequence sendledger.submission_id_seq to sendledger_claim;
grant usage on sequence sendledger.submission_id_seq to sendledger_import;
