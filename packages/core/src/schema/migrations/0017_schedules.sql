-- Schedules: held by us, or by the provider.

alter table sendledger.outbound_message
  -- Who keeps a message until its time. `provider`: it is handed over before, and held there; whatever cannot be handed over in time is
  -- held by us.
  add column held_by text not null default 'us' check (held_by in ('us', 'provider')),
  -- Of a schedule with a zone: the wall clock that was meant, minus UTC, in seconds. The text of a wall clock is stored nowhere.
  add column scheduled_offset_s integer check (scheduled_offset_s between -64800 and 64800),
  add constraint held_needs_schedule check (held_by = 'us' or (scheduled_for is not null and message_class <> 'otp')),
  add constraint offset_needs_zone check (scheduled_offset_s is null or (scheduled_for is not null and scheduled_tz is not null));

-- Wall-clock schedules to come, which a change of a zone's rules may move.
create index outbound_message_zoned on sendledger.outbound_message (scheduled_for) where scheduled_offset_s is not null;
-- What providers hold for us.
create index outbound_message_held on sendledger.outbound_message (scheduled_for)
  where held_by = 'provider' and state = 'submitted';

-- How long before its time a message must be with the provider to be held there; null: this provider holds none.
alter table sendledger.route add column schedule_lead interval check (schedule_lead > interval '0');

-- What we ask of a provider about a request it holds: to drop it, or to send it at another time. The call itself proves nothing; what
-- its list or report shows afterwards does.
create table sendledger.schedule_change (
  id bigint generated always as identity primary key,
  tenant_id text not null,
  route_id bigint not null references sendledger.route (id),
  submission_id bigint not null,
  submission_created_at timestamptz(3) not null,
  provider_txn_id sendledger.foreign_id not null,
  kind text not null check (kind in ('cancel', 'move')),
  -- When the provider sends it, as far as we know: after it the call is too late.
  scheduled_for timestamptz not null,
  move_to timestamptz,
  requested_by text not null check (requested_by <> ''),
  reason text not null check (reason <> ''),
  created_at timestamptz not null default now(),
  state text not null default 'asked' check (state in ('asked', 'done', 'too_late', 'refused')),
  asks integer not null default 0,
  next_at timestamptz not null default now(),
  -- What the provider answered last, and what was seen of the request afterwards. Codes and words, never a text.
  answered text,
  seen text,
  ended_at timestamptz,
  check ((kind = 'move') = (move_to is not null)),
  check ((state = 'asked') = (ended_at is null))
);
create unique index schedule_change_open on sendledger.schedule_change (submission_id, kind) where ended_at is null;
create index schedule_change_due on sendledger.schedule_change (next_at) where ended_at is null;
create index schedule_change_submission on sendledger.schedule_change (submission_id);
create trigger guard_update before update on sendledger.schedule_change
  for each row when (
    old.ended_at is not null
    or (old.id, old.tenant_id, old.route_id, old.submission_id, old.submission_created_at, old.provider_txn_id, old.kind, old.requested_by, old.reason, old.created_at)
       is distinct from (new.id, new.tenant_id, new.route_id, new.submission_id, new.submission_created_at, new.provider_txn_id, new.kind, new.requested_by, new.reason, new.created_at)
  ) execute function sendledger.refuse('what was asked of a provider does not change, and ends once');
create trigger guard_delete before delete on sendledger.schedule_change
  for each row execute function sendledger.refuse('what was asked of a provider is not deleted');
create trigger guard_truncate before truncate on sendledger.schedule_change
  for each statement execute function sendledger.refuse('what was asked of a provider is not deleted');

-- A message that a person asked for again after a cancellation is not covered by it. What the system makes by itself (an automatic
-- replay, the next step of a chain) is covered like what it replaces, whenever it was made.
alter table sendledger.outbound_message add column asked_again_at timestamptz;
update sendledger.outbound_message set asked_again_at = created_at where replaces_id is not null;

-- As in 0011, with that.
-- Whether what a message replaces was cancelled by its own id. What the system makes in its place is covered by that; what a person
-- asked for afterwards is not.
create function sendledger.replaced_was_cancelled(p_id bigint, p_created_at timestamptz, p_asked_again_at timestamptz) returns boolean
language sql stable set search_path = pg_catalog, sendledger, pg_temp as $replaced$
  with recursive before as (
    select o.id, o.replaces_id, o.replaces_created_at from sendledger.outbound_message o where o.id = p_id and o.created_at = p_created_at
    union all
    select o.id, o.replaces_id, o.replaces_created_at
    from before b join sendledger.outbound_message o on o.id = b.replaces_id and o.created_at = b.replaces_created_at
  )
  select exists (select from before b join sendledger.cancellation c on c.kind = 'message' and c.message_id = b.id
    where p_asked_again_at is null or p_asked_again_at <= c.created_at)
$replaced$;

create or replace function sendledger.covered_messages(c sendledger.cancellation, p_after bigint, p_limit integer, p_open boolean, p_until timestamptz)
returns setof sendledger.covered_message
language plpgsql stable set search_path = pg_catalog, sendledger, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $covered$
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
$covered$;

-- Whether some cancellation covers a message. The same conditions as a claim reads.
create function sendledger.is_cancelled(m sendledger.outbound_message) returns boolean
language sql stable set search_path = pg_catalog, sendledger, pg_temp as $covered$
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
$covered$;

-- A cancellation found messages too late here that a provider still holds: their requests are cancelled there, where every recipient of
-- one is cancelled; one of several cannot be. Answers the messages whose request is asked about.
create function sendledger.ask_cancel_held(p_tenant text, p_cancellation bigint) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $ask$
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
$ask$;

-- Another time for a scheduled message. Held by us it is moved at once, and keeps its validity: submit_by moves with it. Held by the
-- provider it is asked of the provider, for a whole request: p_whole says that its other recipients are meant too.
-- answer: moved · asked · shared (one of several recipients) · too_late (it left, or its time has come) · unknown · not_found ·
-- not_scheduled · invalid (the new time)
create function sendledger.move_schedule(p_tenant text, p_id bigint, p_to text, p_zone text, p_whole boolean, p_who text, p_why text,
  out answer text, out lane text, out scheduled_for timestamptz)
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $move$
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
$move$;

revoke execute on function sendledger.replaced_was_cancelled(bigint, timestamptz, timestamptz), sendledger.is_cancelled(sendledger.outbound_message), sendledger.ask_cancel_held(text, bigint),
  sendledger.move_schedule(text, bigint, text, text, boolean, text, text) from public;
grant execute on function sendledger.ask_cancel_held(text, bigint), sendledger.move_schedule(text, bigint, text, text, boolean, text, text)
  to sendledger_producer, sendledger_cli, sendledger_ops;
grant execute on function sendledger.ask_cancel_held(text, bigint) to sendledger_reconcile;
grant execute on function sendledger.replaced_was_cancelled(bigint, timestamptz, timestamptz)
  to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill, sendledger_cli, sendledger_ops;
grant select on sendledger.schedule_change to sendledger_reconcile, sendledger_cli, sendledger_ops;
grant insert, update (scheduled_for, move_to, state, asks, next_at, answered, seen, ended_at) on sendledger.schedule_change to sendledger_reconcile;
grant update (held_by) on sendledger.outbound_message to sendledger_claim;
-- A window that is set or taken away concerns what waits for it.
grant update (due_at) on sendledger.outbound_message to sendledger_cli;
