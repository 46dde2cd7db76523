-- What moves a row by evidence: the breaker's own facts, the provider's clock, what a worker still holds, replays, refunds,
-- decisions of people, and the audits.

alter table sendledger.route
  add column breaker_opened_at timestamptz,
  add column breaker_reason text,
  -- Probes since the breaker opened; the pause before the next one doubles with each, from the first to the longest.
  add column probes integer not null default 0,
  add column probe_first_ms integer not null default 5000 check (probe_first_ms >= 1),
  add column probe_longest_ms integer not null default 300000,
  -- The provider's clock minus ours, learned from pairs of a request and its record; null while no pair is known.
  add column clock_offset_ms bigint,
  add column clock_pairs integer not null default 0,
  add column clock_seen_at timestamptz,
  add constraint route_probe_check check (probe_longest_ms >= probe_first_ms),
  add constraint route_breaker_whole check ((breaker_state = 'open') = (breaker_opened_at is not null) and (breaker_state = 'closed' or probe_at is not null)),
  add constraint route_clock_whole check ((clock_offset_ms is null) = (clock_seen_at is null));

-- How long after a request its record may still be missing from the provider's report.
alter table sendledger.lane add column settle_within interval not null default '30 minutes' check (settle_within > interval '0');

-- The oldest request this process may still hold, as of its last sign of life; null: none. Absence is no proof while it does.
alter table sendledger.worker
  add column holds_from timestamptz,
  add column holds_said_at timestamptz;

-- A hint wakes a poll and is applied by nothing else. A receipt that matches no row yet is looked at again, ever more seldom.
alter table sendledger.delivery_receipt
  add column hint boolean not null default false,
  add column next_look_at timestamptz not null default now(),
  add column looks smallint not null default 0;
drop index sendledger.delivery_receipt_waiting;
create index delivery_receipt_waiting on sendledger.delivery_receipt (next_look_at) where applied_at is null;

create index outbound_message_replaces on sendledger.outbound_message (replaces_id) where replaces_id is not null;

create table sendledger.charge_adjustment (
  id bigint generated always as identity primary key,
  message_id bigint not null,
  message_created_at timestamptz(3) not null,
  -- What is added to the cost of the message; a refund is negative.
  amount numeric(12,4) not null check (amount <> 0),
  currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
  kind text not null check (kind in ('refund', 'correction')),
  -- What the provider said, and where: a credit note, a line of its history. Makes a second booking of the same one a no-op.
  evidence text not null check (evidence <> ''),
  created_by text not null check (created_by <> ''),
  created_at timestamptz not null default now(),
  check (kind <> 'refund' or amount < 0),
  unique (message_id, evidence)
);
create trigger guard_update before update on sendledger.charge_adjustment
  for each row execute function sendledger.refuse('an adjustment is a fact and does not change; book another');
create trigger guard_delete before delete on sendledger.charge_adjustment
  for each row execute function sendledger.refuse('an adjustment is a fact and is not deleted');
create trigger guard_truncate before truncate on sendledger.charge_adjustment
  for each statement execute function sendledger.refuse('an adjustment is a fact and is not deleted');

create table sendledger.audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  who text not null check (who <> ''),
  action text not null check (action <> ''),
  subject text not null check (subject <> ''),
  message_id bigint,
  message_created_at timestamptz(3),
  why text not null check (why <> ''),
  details jsonb not null default '{}',
  check ((message_id is null) = (message_created_at is null))
);
create index audit_log_message on sendledger.audit_log (message_id) where message_id is not null;
create trigger guard_update before update on sendledger.audit_log
  for each row execute function sendledger.refuse('what a person did stays as it was written');
create trigger guard_delete before delete on sendledger.audit_log
  for each row execute function sendledger.refuse('what a person did stays as it was written');
create trigger guard_truncate before truncate on sendledger.audit_log
  for each statement execute function sendledger.refuse('what a person did stays as it was written');

-- One row an audit: whoever moves last_run_at on runs it, so that it runs once over the fleet; what it found is read by all.
create table sendledger.audit (
  name text primary key,
  last_run_at timestamptz not null default '-infinity',
  finished_at timestamptz,
  findings integer not null default 0
);

-- A review item is decided once.
create trigger guard_update before update on sendledger.review_item
  for each row when (
    old.resolved_at is not null
    or (old.id, old.kind, old.subject, old.route_id, old.message_id, old.message_created_at, old.submission_id, old.submission_created_at, old.opened_at)
       is distinct from (new.id, new.kind, new.subject, new.route_id, new.message_id, new.message_created_at, new.submission_id, new.submission_created_at, new.opened_at)
  ) execute function sendledger.refuse('a review item is decided once, and what it is about does not change');
create trigger guard_delete before delete on sendledger.review_item
  for each row execute function sendledger.refuse('a review item is resolved and not deleted');
create index review_item_subject on sendledger.review_item (kind, subject);
create index review_item_message on sendledger.review_item (message_id) where resolved_at is null and message_id is not null;

create type sendledger.replay_answer as (answer text, message_id text, message_created_at text, attempt_key text, lane text, reason text);

-- Keys before messages, as everywhere: whoever may replay rows in its own transaction locks their keys first of all.
create function sendledger.lock_keys_of(p_ids bigint[], p_from timestamptz, p_to timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $lock$
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
$lock$;

-- A replay is a new row with a new attempt key that says what it replaces; the business key moves to it by compare-and-set, so
-- a row has one successor however many ask at once. Refused where the first may still arrive. p_automatic: absence was proven,
-- and the message is sent again inside its own submit_by, unless it was cancelled meanwhile. What a person asked for and was
-- refused is in the audit log too, whoever asked: an application may write nothing there but through this.
create function sendledger.replay(p_id bigint, p_created_at timestamptz, p_who text, p_why text, p_may_duplicate boolean,
  p_automatic boolean, p_submit_by timestamptz, p_route text, p_tenant text) returns sendledger.replay_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $replay$
declare
  a sendledger.replay_answer;
  m record;
  k record;
  l record;
  r record;
  new_id bigint;
  at timestamptz(3) := date_trunc('milliseconds', now());
  deadline timestamptz;
begin
  select o.tenant_id, o.business_key into m from sendledger.outbound_message o
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
  select x.id, x.name, x.provider, x.encoding_rule, x.national_digits, x.sender_required, coalesce(m.sender_id, x.default_sender_id) as sender
  into r from sendledger.route x
  where x.retired_at is null and x.channel = m.channel and case when p_route is null then x.id = m.route_id else x.name = p_route end;
  select x.submit_within into l from sendledger.lane x where x.route_id = r.id and x.message_class = m.message_class;

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
    when p_automatic and (
        exists (select from sendledger.cancellation c where c.kind = 'message' and c.message_id = m.id)
        -- As a claim would judge the message itself: one that a person replayed after the cancellation is not covered by it.
        or exists (select from sendledger.cancellation c where c.kind = 'key' and c.tenant_id = m.tenant_id
          and c.business_key = m.business_key and (m.replaces_id is null or m.created_at <= c.created_at))
        or exists (select from sendledger.cancellation c where c.kind = 'event' and c.tenant_id = m.tenant_id
          and c.event_id = m.event_id and c.event_type = m.event_type and (m.replaces_id is null or m.created_at <= c.created_at))
        or exists (select from sendledger.cancellation c where c.kind = 'campaign' and c.tenant_id = m.tenant_id
          and c.campaign_id = m.campaign_id and (c.covers_until is null or m.created_at <= c.covers_until)
          and (m.replaces_id is null or m.created_at <= c.created_at))
        or exists (select from sendledger.cancellation c where c.kind = 'tenant' and c.tenant_id = m.tenant_id
          and m.created_at <= c.covers_until and (c.message_class is null or c.message_class = m.message_class)
          and (m.replaces_id is null or m.created_at <= c.created_at))) then 'cancelled'
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

  -- One that was said is kept to, whatever the schedule: past it the message is worthless.
  deadline := coalesce(p_submit_by, case when p_automatic then m.submit_by else greatest(now(), m.scheduled_for) + l.submit_within end);
  new_id := nextval('sendledger.message_id_seq');
  insert into sendledger.outbound_message (
    id, created_at, tenant_id, business_key, event_type, event_id, event_version, campaign_id, replaces_id, replaces_created_at,
    channel, message_class, recipient, country, sender_id, route_id, provider, body, encoding, segments,
    template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
    scheduled_for, scheduled_tz, due_at, submit_by, on_proven_absent)
  values (
    new_id, at, m.tenant_id, m.business_key, m.event_type, m.event_id, m.event_version, m.campaign_id, m.id, m.created_at,
    m.channel, m.message_class, m.recipient, m.country, r.sender, r.id, r.provider, m.body, m.encoding, m.segments,
    m.template_id, m.template_version, m.template_params, m.dlt_entity_id, m.dlt_template_id,
    case when m.scheduled_for > at then m.scheduled_for end, case when m.scheduled_for > at then m.scheduled_tz end,
    greatest(at, m.scheduled_for), deadline, m.on_proven_absent)
  returning attempt_key::text into a.attempt_key;
  update sendledger.message_key x set message_id = new_id, message_created_at = at, forget_after = null
  where x.tenant_id = m.tenant_id and x.business_key = m.business_key and x.message_id = p_id;
  insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
  values (p_who, 'replay', 'message ' || p_id, p_id, p_created_at, p_why,
    json_build_object('successor', new_id::text, 'may_duplicate', coalesce(p_may_duplicate, false), 'automatic', p_automatic, 'route', p_route));
  a.answer := 'created';
  a.message_id := new_id::text;
  a.message_created_at := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  a.lane := r.id::text || '.' || m.message_class;
  return a;
end
$replay$;

revoke execute on function sendledger.lock_keys_of(bigint[], timestamptz, timestamptz),
  sendledger.replay(bigint, timestamptz, text, text, boolean, boolean, timestamptz, text, text) from public;
grant execute on function sendledger.lock_keys_of(bigint[], timestamptz, timestamptz) to sendledger_submit, sendledger_reconcile, sendledger_cli, sendledger_ops, sendledger_backfill;
grant execute on function sendledger.replay(bigint, timestamptz, text, text, boolean, boolean, timestamptz, text, text)
  to sendledger_producer, sendledger_submit, sendledger_reconcile, sendledger_cli, sendledger_ops, sendledger_backfill;

grant update (holds_from, holds_said_at) on sendledger.worker to sendledger_submit;
grant select on sendledger.worker to sendledger_ops, sendledger_cli;
grant update (breaker_state, breaker_failures, breaker_opened_at, breaker_reason, probe_at, probes, updated_at) on sendledger.route to sendledger_submit;
grant update (breaker_state, breaker_failures, breaker_opened_at, breaker_reason, probe_at, probes, updated_at, clock_offset_ms, clock_pairs, clock_seen_at)
  on sendledger.route to sendledger_reconcile, sendledger_backfill;
grant update (resolved_at, resolved_by, resolution, note, evidence) on sendledger.review_item to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill;
grant insert, update (resolved_at, resolved_by, resolution, note, evidence) on sendledger.review_item to sendledger_cli, sendledger_ops;
-- A late reply on a request that was settled meanwhile is kept as a receipt, and changes what it may.
grant select, insert, update (status, cause_class) on sendledger.delivery_receipt to sendledger_submit;
grant update (billed_after_close_at, conflict) on sendledger.outbound_message to sendledger_submit;
grant update (hint, next_look_at, looks) on sendledger.delivery_receipt to sendledger_reconcile, sendledger_backfill;
grant insert on sendledger.cancellation to sendledger_reconcile, sendledger_backfill;
grant select, insert on sendledger.audit_log to sendledger_submit, sendledger_reconcile, sendledger_backfill, sendledger_cli, sendledger_ops;
grant select, insert, update on sendledger.audit to sendledger_reconcile;
grant select, insert on sendledger.charge_adjustment to sendledger_reconcile, sendledger_backfill, sendledger_cli, sendledger_ops;
grant select on sendledger.audit, sendledger.charge_adjustment, sendledger.audit_log to sendledger_cli, sendledger_ops;
grant select, insert on sendledger.provider_message to sendledger_cli, sendledger_ops;
-- A person's decision moves the row through the same statements as evidence does.
grant update (reconciled_at, submitted_at, receipt_by, billable_units, cost, cost_currency, cost_source, correlation_result, correlation_window_ms,
  billed_after_close_at, conflict, provider_txn_id, provider_message_id) on sendledger.outbound_message to sendledger_cli, sendledger_ops;
grant update (responded_at, outcome_reason, outcome_proof, poll_at, provider_txn_id) on sendledger.submission to sendledger_cli, sendledger_ops;
