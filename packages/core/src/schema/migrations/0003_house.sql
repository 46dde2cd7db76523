create table sendledger.tenant (
  tenant_id text primary key check (tenant_id <> ''),
  -- ISO 3166 region in which a number without a country code is read.
  default_region char(2) check (default_region ~ '^[A-Z]{2}$')
);

create table sendledger.route (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  provider text not null check (provider <> ''),
  -- The provider's account: message ids are unique inside it. Never a credential.
  account text not null check (account <> ''),
  channel sendledger.message_channel not null,
  -- Recipients in one request; 1 = this route does not batch.
  max_batch integer not null default 500 check (max_batch between 1 and 10000),
  -- Which characters force UCS-2: the GSM alphabet, or everything beyond ASCII.
  encoding_rule text not null default 'gsm7' check (encoding_rule in ('gsm7', 'ascii')),
  -- Used where neither the message nor its template names a sender; a route may need one.
  default_sender_id text,
  sender_required boolean not null default false,
  -- A number of this many digits would be read by the provider as a national one, and reach a stranger: refused at enqueue.
  national_digits smallint,
  -- Zone of the provider's clock strings.
  provider_zone text not null default 'UTC',
  -- How much may be on the wire: requests, and rows in them. A worker that dies leaves at most this many unknown.
  max_in_flight_requests integer not null default 32 check (max_in_flight_requests >= 1),
  max_in_flight_rows integer not null default 20000 check (max_in_flight_rows >= 1),
  -- Submissions claimed and not yet marked, so that leases do not run out in the queue.
  max_open_submissions integer not null default 256 check (max_open_submissions >= 1),
  paused_at timestamptz,
  pause_reason text,
  breaker_state text not null default 'closed' check (breaker_state in ('closed', 'open')),
  breaker_failures integer not null default 0,
  breaker_threshold integer not null default 5 check (breaker_threshold >= 1),
  probe_at timestamptz,
  hold boolean not null default false,
  hold_reason text,
  retired_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on column sendledger.route.hold is 'Nothing of this route is marked while set. Whoever sets it writes this row, so that a mark waits for it or sees it.';

create table sendledger.lane (
  route_id bigint not null references sendledger.route (id),
  message_class sendledger.message_class not null,
  paused_at timestamptz,
  pause_reason text,
  -- Default of submit_by, counted from due_at: past it the message is worthless.
  submit_within interval not null check (submit_within > interval '0'),
  -- Default of receipt_by, counted from the later of submission and schedule.
  receipt_within interval not null check (receipt_within > interval '0'),
  updated_at timestamptz not null default now(),
  primary key (route_id, message_class)
);

create table sendledger.tenant_route (
  tenant_id text not null,
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  route_id bigint not null references sendledger.route (id),
  primary key (tenant_id, channel, message_class)
);

create table sendledger.rate_card (
  id bigint generated always as identity primary key,
  route_id bigint not null references sendledger.route (id),
  -- `<class>:<country>`, `<class>:*` or `*`; the most exact one that is valid is the price.
  price_key text not null check (price_key ~ '^(\*|(otp|transactional|promotional):(\*|[A-Z]{2}))$'),
  currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
  -- Per unit: one recipient, one segment.
  price numeric(12, 6) not null check (price >= 0),
  valid tstzrange not null default tstzrange(now(), null) check (not isempty(valid)),
  constraint rate_card_no_overlap exclude using gist (route_id with =, price_key with =, valid with &&)
);

create table sendledger.message_template (
  template_id text not null check (template_id <> ''),
  version integer not null check (version >= 1),
  channel sendledger.message_channel not null,
  message_class sendledger.message_class not null,
  body text not null check (body <> ''),
  variables jsonb not null default '[]',
  sender_id text,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  primary key (template_id, version)
);

create table sendledger.worker (
  id bigint generated always as identity primary key,
  -- Stable over restarts (a pod's or host's name); a newer boot of the same instance ends the older.
  instance text not null,
  boot_id uuid not null unique,
  app text not null,
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  ended_at timestamptz
);
create index worker_alive on sendledger.worker (app, last_seen_at) where ended_at is null;

create table sendledger.dataset_epoch (
  only_row boolean primary key default true check (only_row),
  environment text not null check (environment <> ''),
  system_identifier text not null,
  timeline text not null,
  epoch_no integer not null default 1,
  status sendledger.epoch_status not null default 'ok',
  status_reason text,
  held_to_message_id bigint,
  heartbeat_at timestamptz not null default now()
);

create table sendledger.cancellation (
  id bigint generated always as identity primary key,
  tenant_id text not null,
  kind text not null check (kind in ('message', 'key', 'event', 'campaign', 'tenant')),
  message_id bigint,
  business_key text,
  event_type text,
  event_id text,
  campaign_id text,
  message_class sendledger.message_class,
  -- Rows created later than this are not covered. Null: every one is.
  covers_until timestamptz,
  requested_by text not null,
  reason text not null,
  created_at timestamptz not null default now(),
  check (case kind
    when 'message' then message_id is not null
    when 'key' then business_key is not null
    when 'event' then event_type is not null and event_id is not null
    when 'campaign' then campaign_id is not null
    else covers_until is not null
  end)
);
create index cancellation_message on sendledger.cancellation (message_id) where kind = 'message';
create index cancellation_key on sendledger.cancellation (tenant_id, business_key) where kind = 'key';
create index cancellation_event on sendledger.cancellation (tenant_id, event_id, event_type) where kind = 'event';
create index cancellation_campaign on sendledger.cancellation (tenant_id, campaign_id) where kind = 'campaign';
create index cancellation_tenant on sendledger.cancellation (tenant_id, covers_until) where kind = 'tenant';

create table sendledger.review_item (
  id bigint generated always as identity primary key,
  kind text not null,
  -- What it is about, in a form that makes a second opening of the same question a no-op.
  subject text not null,
  route_id bigint references sendledger.route (id),
  message_id bigint,
  message_created_at timestamptz(3),
  submission_id bigint,
  submission_created_at timestamptz(3),
  evidence jsonb not null default '{}',
  opened_at timestamptz not null default now(),
  resolved_at timestamptz,
  resolved_by text,
  resolution text,
  note text,
  check ((resolved_at is null) = (resolution is null)),
  check (resolved_at is null or (resolved_by is not null and note is not null))
);
create unique index review_item_open on sendledger.review_item (kind, subject) where resolved_at is null;
