-- What is sent instead where a message cannot be delivered: another channel, or another provider.

alter table sendledger.message_template
  -- A list of {template: {id, version}, route, channel, afterSeconds, mayDuplicate}; what a message of this template falls back to
  -- unless it says otherwise.
  add column fallback jsonb not null default '[]';

-- One step of a message's chain, ready to be sent: rendered when the message was, because the values of secret variables are stored
-- nowhere.
create table sendledger.fallback (
  tenant_id text not null,
  business_key text not null,
  step smallint not null check (step >= 1),
  channel sendledger.message_channel not null,
  route_id bigint not null references sendledger.route (id),
  sender_id text,
  body text not null check (body <> ''),
  encoding text not null check (encoding in ('GSM7', 'UCS2')),
  segments smallint not null check (segments >= 1),
  template_id text,
  template_version integer,
  template_params jsonb,
  dlt_entity_id sendledger.foreign_id,
  dlt_template_id sendledger.foreign_id,
  -- Not delivered for so long since it was submitted: the step is taken although the message may yet arrive. Only where its sender
  -- said that a duplicate is acceptable. Null: only what was refused or failed falls back.
  after interval check (after > interval '0'),
  may_duplicate boolean not null default false,
  -- When the clock is asked next; null: never.
  look_at timestamptz,
  taken_at timestamptz,
  primary key (tenant_id, business_key, step),
  check (after is null or may_duplicate)
);
create index fallback_look on sendledger.fallback (look_at) where look_at is not null and taken_at is null;

alter table sendledger.outbound_message
  -- The step of its chain that follows it; null: none is left.
  add column fallback_step smallint check (fallback_step >= 1);
create index outbound_message_fallback on sendledger.outbound_message (id)
  where fallback_step is not null and state in ('rejected', 'failed');

-- As in 0010, and: windows, schedules that a provider holds, and what is left of a chain go with the successor.
create or replace function sendledger.replay(p_id bigint, p_created_at timestamptz, p_who text, p_why text, p_may_duplicate boolean,
  p_automatic boolean, p_submit_by timestamptz, p_route text, p_tenant text) returns sendledger.replay_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $replay$
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
    id, created_at, tenant_id, business_key, event_type, event_id, event_version, campaign_id, replaces_id, replaces_created_at,
    channel, message_class, recipient, country, sender_id, route_id, provider, body, encoding, segments,
    template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
    scheduled_for, scheduled_tz, scheduled_offset_s, held_by, due_at, submit_by, on_proven_absent, fallback_step, state_reason, asked_again_at)
  values (
    new_id, at, m.tenant_id, m.business_key, m.event_type, m.event_id, m.event_version, m.campaign_id, m.id, m.created_at,
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
$replay$;

-- What an application may ask: of its own tenant, and as a person does.
create function sendledger.replay_own(p_tenant text, p_id bigint, p_created_at timestamptz, p_who text, p_why text, p_may_duplicate boolean,
  p_submit_by timestamptz, p_route text) returns sendledger.replay_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $own$
begin
  return sendledger.replay(p_id, p_created_at, p_who, p_why, p_may_duplicate, false, p_submit_by, p_route, coalesce(p_tenant, ''));
end
$own$;
revoke execute on function sendledger.replay_own(text, bigint, timestamptz, text, text, boolean, timestamptz, text) from public;
revoke execute on function sendledger.replay(bigint, timestamptz, text, text, boolean, boolean, timestamptz, text, text) from sendledger_producer;
grant execute on function sendledger.replay_own(text, bigint, timestamptz, text, text, boolean, timestamptz, text)
  to sendledger_producer, sendledger_cli, sendledger_ops;

-- Takes the next step of a message's chain: a new row on another channel or route that says what it replaces, with the same business
-- key, which moves to it by compare-and-set. Only from `rejected` or `failed`, where nothing says that it was sent after all; or from
-- `submitted`, not delivered for as long as its sender said, where a duplicate is acceptable. Never from `unknown`.
-- answer: created · none · open · unknown · delivered · replaced · doubtful · cancelled · superseded · too_late · no_route · not_found
create function sendledger.fall_back(p_id bigint, p_created_at timestamptz) returns sendledger.replay_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $fallback$
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
    id, created_at, tenant_id, business_key, event_type, event_id, event_version, campaign_id, replaces_id, replaces_created_at,
    channel, message_class, recipient, country, sender_id, route_id, provider, body, encoding, segments,
    template_id, template_version, template_params, dlt_entity_id, dlt_template_id, due_at, submit_by, on_proven_absent, fallback_step, state_reason,
    scheduled_for, scheduled_tz, scheduled_offset_s, asked_again_at)
  values (
    new_id, at, m.tenant_id, m.business_key, m.event_type, m.event_id, m.event_version, m.campaign_id, m.id, m.created_at,
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
$fallback$;

-- As in 0006, and: a final row's chain is text too.
create or replace function sendledger.redact_final(p_before timestamptz, p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $redact$
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
$redact$;

revoke execute on function sendledger.fall_back(bigint, timestamptz) from public;
grant execute on function sendledger.fall_back(bigint, timestamptz) to sendledger_reconcile;
grant select, update (look_at) on sendledger.fallback to sendledger_reconcile;
grant select on sendledger.fallback to sendledger_cli, sendledger_ops;
