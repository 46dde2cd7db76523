-- Cancelling whatever an event, a campaign or a tenant has waiting; a newer code in place of an older one; and looking up.

-- Which messages an event or a campaign has, beside the key and not on the message: a key is written once, a message four
-- times, and each version would pay for the index again. Null: written before this, or by an import that did not say.
alter table sendledger.message_key
  add column event_id text,
  add column campaign_id text;
update sendledger.message_key k set event_id = m.event_id, campaign_id = m.campaign_id
from sendledger.outbound_message m where m.id = k.message_id and m.created_at = k.message_created_at;
create index message_key_event on sendledger.message_key (tenant_id, event_id, message_id);
create index message_key_campaign on sendledger.message_key (tenant_id, campaign_id, message_id) where campaign_id is not null;

-- Codes that have not left: what a newer one looks for. Only codes pay for it.
create index outbound_message_code on sendledger.outbound_message (recipient)
  where message_class = 'otp' and state in ('pending', 'retry', 'claimed');

-- The fact. Nothing is swept here, so it may stand in any transaction; from its commit on every claim reads it. Nothing is
-- written, and null is answered, for a message that the tenant does not have. p_first: another fact of the same request, whose
-- time counts for what is a replay made after it.
create function sendledger.record_cancellation(p_tenant text, p_kind text, p_message_id bigint, p_business_key text, p_event_type text,
  p_event_id text, p_campaign_id text, p_class sendledger.message_class, p_covers_until timestamptz, p_who text, p_why text, p_first bigint)
returns sendledger.cancellation
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $record$
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
$record$;

create type sendledger.covered_message as (message_id bigint, message_created_at timestamptz, state sendledger.message_state,
  scheduled_for timestamptz, submission_id bigint, submission_created_at timestamptz, submission_open boolean);

-- The messages that a cancellation covers and that were made until p_until, by id from p_after on. p_open: those that a request may still be made of, which is
-- waiting, or claimed and not marked. Message and submission are seen in one snapshot, so that a row cannot be in neither while
-- it goes from one to the other. An event or campaign is found by its keys, a tenant by what waits, whosever it is: neither reads
-- what is closed. Without p_open a tenant's are those on the wire or unknown, and not its history.
-- The switches: the size of an event is nothing a planner knows, and a hash join would read the months.
create function sendledger.covered_messages(c sendledger.cancellation, p_after bigint, p_limit integer, p_open boolean, p_until timestamptz)
returns setof sendledger.covered_message
language plpgsql stable set search_path = pg_catalog, sendledger, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $covered$
begin
  if c.kind = 'message' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.outbound_message m
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where m.id = c.message_id and m.tenant_id = c.tenant_id and m.id > p_after and m.created_at <= p_until
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    limit p_limit;
  elsif c.kind = 'key' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.business_key = c.business_key and k.message_id > p_after and m.created_at <= p_until
      and (m.replaces_id is null or m.created_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    limit p_limit;
  elsif c.kind = 'event' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.event_id = c.event_id and k.message_id > p_after and m.created_at <= p_until
      and m.event_type = c.event_type and (m.replaces_id is null or m.created_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    order by k.message_id limit p_limit;
  elsif c.kind = 'campaign' then
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, s.state = 'open'
    from sendledger.message_key k
    join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
    left join sendledger.submission s on m.state = 'claimed' and s.id = m.submission_id and s.created_at = m.submission_created_at
    where k.tenant_id = c.tenant_id and k.campaign_id = c.campaign_id and k.message_id > p_after and m.created_at <= p_until
      and (c.covers_until is null or m.created_at <= c.covers_until) and (m.replaces_id is null or m.created_at <= c.created_at)
      and (not p_open or m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open'))
    order by k.message_id limit p_limit;
  elsif p_open then
    return query
    select w.* from (
      select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, null::bigint, null::timestamptz, null::boolean
      from sendledger.outbound_message m
      where m.state in ('pending', 'retry') and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until)
        and (c.message_class is null or m.message_class = c.message_class) and (m.replaces_id is null or m.created_at <= c.created_at)
      union all
      select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, true
      from sendledger.submission s
      join sendledger.outbound_message m on m.submission_id = s.id and m.submission_created_at = s.created_at and m.state = 'claimed'
      where s.state = 'open' and (c.message_class is null or s.message_class = c.message_class)
        and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until) and (m.replaces_id is null or m.created_at <= c.created_at)
    ) w
    limit p_limit;
  else
    return query
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, s.id, s.created_at::timestamptz, false
    from sendledger.submission s
    join sendledger.outbound_message m on m.submission_id = s.id and m.submission_created_at = s.created_at and m.state = 'claimed'
    where s.state = 'marked' and (c.message_class is null or s.message_class = c.message_class)
      and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until) and (m.replaces_id is null or m.created_at <= c.created_at)
    union all
    select m.id, m.created_at::timestamptz, m.state, m.scheduled_for, null::bigint, null::timestamptz, false
    from sendledger.outbound_message m
    where m.state = 'unknown' and m.tenant_id = c.tenant_id and m.created_at <= least(c.covers_until, p_until)
      and (c.message_class is null or m.message_class = c.message_class) and (m.replaces_id is null or m.created_at <= c.created_at);
  end if;
end
$covered$;

-- found: rows a request could still be made of; none, and from the first id on: there is nothing left to do. released: rows
-- given back with the submissions of covered ones, which are theirs or others'; lanes: where those wait again. last: where to go on.
create type sendledger.cancel_progress as (found integer, message_ids bigint[], message_created_at timestamptz[], released integer,
  lanes text[], last bigint);

-- One step, one short transaction: the submissions of covered claimed rows are released; where there are none, what waits is
-- cancelled. Never both: a row that moved on while it was waited for stays locked, and a submission comes before its rows.
-- What waits is locked without waiting, because whoever releases a submission takes its rows in another order. Where all of it
-- is locked the next step is told to wait (p_wait), for one row and with nothing else in hand. So nothing is ever skipped for good.
-- p_until: a time after the commit of the fact. What was made later was in no claim's sight before the fact was, so the claims
-- cancel it, and a fan-out that goes on does not keep the answer waiting.
create function sendledger.cancel_step(p_tenant text, p_cancellation bigint, p_until timestamptz, p_after bigint, p_limit integer, p_wait boolean)
returns sendledger.cancel_progress
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set jit = off set plan_cache_mode = force_generic_plan as $step$
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
$step$;

-- What is not open any more; an open row that is covered is one made since: no claim takes it, so it counts as cancelled. A
-- message the provider holds for a later time is `submitted`: too late, until its schedule can be cancelled there.
create function sendledger.cancel_outcome(r sendledger.covered_message) returns text
language sql immutable set search_path = pg_catalog, sendledger, pg_temp as $outcome$
  select case
    when r.state in ('cancelled', 'pending', 'retry') or (r.state = 'claimed' and r.submission_open) then 'cancelled'
    when r.state = 'unknown' then 'unknown'
    else 'too_late' end
$outcome$;

-- The answer: how many messages came out how, and at most p_list of them by id, the ones that were not cancelled first.
create function sendledger.cancel_answer(p_tenant text, p_cancellation bigint, p_list integer) returns jsonb
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set jit = off as $answer$
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
$answer$;

-- What a cancellation would cover if it were asked now: how many of each outcome. Writes nothing.
create function sendledger.cancel_preview(p_tenant text, p_kind text, p_message_id bigint, p_business_key text, p_event_type text,
  p_event_id text, p_campaign_id text, p_class sendledger.message_class, p_covers_until timestamptz) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, sendledger, pg_temp set jit = off as $preview$
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
$preview$;

-- A newer code for the same recipient and purpose (tenant and event type) takes the place of older ones that have not left. In
-- the transaction of the newer one, so that a rollback takes it all back; and without waiting for a row lock, because that
-- transaction is the caller's and may hold anything. What could not be locked, and what is marked and may yet come back as
-- `retry`, is named in a fact that the next claim reads.
-- Two at once would not see each other. They take turns, for as long as it is reasonable to keep a log-in waiting; a call of
-- very many codes takes none, because each turn is a lock in shared memory.
create function sendledger.supersede_codes(p_ids bigint[], p_created_at timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp
set enable_nestloop = on set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $supersede$
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
$supersede$;

-- As in 0008, and: the key says event and campaign, and newer codes take the place of older ones.
create or replace function sendledger.enqueue_set(p_messages json, p_ords integer[]) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set enable_nestloop = off set jit = off as $enqueue$
declare
  item record;
  winner record;
  a sendledger.enqueue_answer;
  codes bigint[] := '{}';
begin
  for item in
    with given as materialized (
      select coalesce(p_ords[e.ord], e.ord::integer) as ord, i.*
      from json_array_elements(p_messages) with ordinality as e(value, ord)
      cross join lateral json_to_record(case when json_typeof(e.value) = 'object' then e.value else '{}'::json end) as i(
        tenant_id text, channel text, message_class text, recipient text, country text, sender_id text,
        event_type text, event_id text, event_version text,
        key_template text, key_version text, key_step text, key_bucket text,
        body text, encoding text, segments text, ascii_encoding text, ascii_segments text,
        dlt_entity_id text, dlt_template_id text, template_id text, template_version text, template_params json,
        route text, scheduled_for text, scheduled_tz text, submit_by text, campaign_id text, on_proven_absent text)
    ), wanted as materialized (
      select distinct g.tenant_id, g.channel, g.message_class, g.route from given g
    ), chosen as materialized (
      -- The message's route, else the tenant's for channel and class, else the channel's only one.
      select w.*, r.id as route_id, r.provider, r.encoding_rule, r.default_sender_id, r.sender_required, r.national_digits, l.submit_within, l.route_id is not null as has_lane
      from wanted w
      cross join lateral (
        select case
          when w.route is not null then (select x.id from sendledger.route x
            where x.name = w.route and x.channel::text = w.channel and x.retired_at is null)
          else coalesce(
            (select t.route_id from sendledger.tenant_route t join sendledger.route x on x.id = t.route_id
              where t.tenant_id = w.tenant_id and t.channel::text = w.channel and t.message_class::text = w.message_class
                and x.retired_at is null),
            (select min(x.id) from sendledger.route x
              where x.channel::text = w.channel and x.retired_at is null having count(*) = 1))
        end as id
      ) pick
      left join sendledger.route r on r.id = pick.id
      left join sendledger.lane l on l.route_id = r.id and l.message_class::text = w.message_class
    ), read as materialized (
      select g.*, c.route_id, c.provider, c.submit_within, c.sender_required, c.national_digits, coalesce(g.sender_id, c.default_sender_id) as sender,
        coalesce(c.has_lane, false) as has_lane,
        case when c.encoding_rule = 'ascii' then coalesce(g.ascii_encoding, case when octet_length(g.body) = length(g.body) then g.encoding end)
          else g.encoding end as bill_encoding,
        case when c.encoding_rule = 'ascii' then coalesce(g.ascii_segments, case when octet_length(g.body) = length(g.body) then g.segments end)
          else g.segments end as bill_segments,
        case when g.scheduled_for is not null then sendledger.instant_or_null(g.scheduled_for) end as scheduled_at,
        case when g.submit_by is not null then sendledger.instant_or_null(g.submit_by) end as submit_at,
        date_trunc('milliseconds', now()) as at
      from given g
      left join chosen c on c.tenant_id is not distinct from g.tenant_id and c.channel is not distinct from g.channel
        and c.message_class is not distinct from g.message_class and c.route is not distinct from g.route
    ), judged as materialized (
      select x.*, greatest(x.at, x.scheduled_at) as due,
        coalesce(x.submit_at, greatest(x.at, x.scheduled_at) + x.submit_within) as deadline,
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
          when x.route_id is null then 'route:no route of that name; or it was not named, and this channel has none or several'
          when not x.has_lane then 'route:it has no lane for this class'
          when length(x.recipient) = x.national_digits then 'recipient:the provider of this route reads a number of this length as a national one'
          when x.sender_required and x.sender is null then 'sender_id:this route needs a sender, and has no default'
          when x.bill_encoding is null or x.bill_encoding not in ('GSM7', 'UCS2') then 'encoding:GSM7 or UCS2, counted by the rule of the route'
          when x.bill_segments is null or x.bill_segments !~ '^[1-9][0-9]{0,2}$' then 'segments:a whole number from 1 to 999, counted by the rule of the route'
          when x.bill_segments::integer < ceil(length(x.body) / case x.bill_encoding when 'GSM7' then 160.0 else 70.0 end) then 'segments:fewer than the text can fit in'
          when x.channel = 'sms' and x.bill_segments::integer > 10 then 'body:over 10 segments in the encoding this route sends'
          when x.scheduled_for is not null and x.scheduled_at is null then 'scheduled_for:not an instant with offset'
          when x.submit_by is not null and x.submit_at is null then 'submit_by:not an instant with offset'
          when coalesce(x.submit_at, x.at + interval '1 s') <= x.at then 'submit_by:already past'
          when x.submit_at <= x.scheduled_at then 'submit_by:not after the schedule'
        end as problem
      from read x
    ), keyed as materialized (
      select j.*,
        case when j.problem is null then sendledger.business_key(j.tenant_id, j.event_type, j.event_id, j.recipient,
          j.key_template, j.key_version, j.key_step, j.key_bucket) end as business_key,
        case when j.problem is null then sha256(convert_to('sendledger.content.1' || sendledger.key_part(j.message_class)
          || sendledger.key_part(j.body) || sendledger.key_part(j.template_id) || sendledger.key_part(j.template_version), 'UTF8')) end as content_hash
      from judged j
    ), numbered as materialized (
      select k.*,
        case when k.problem is null then row_number() over (partition by k.tenant_id, k.business_key order by k.ord) end as turn
      from keyed k
    ), good as materialized (
      select n.*, nextval('sendledger.message_id_seq') as mid from numbered n where n.problem is null and n.turn = 1
    ), won as (
      insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash, event_id, campaign_id)
      select g.tenant_id, g.business_key, g.mid, g.at, g.content_hash, g.event_id, g.campaign_id from good g order by g.tenant_id, g.business_key
      on conflict do nothing
      returning message_id
    ), made as (
      insert into sendledger.outbound_message (
        id, created_at, updated_at, tenant_id, business_key, event_type, event_id, event_version, campaign_id,
        channel, message_class, recipient, country, sender_id, route_id, provider,
        body, encoding, segments, template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
        scheduled_for, scheduled_tz, due_at, submit_by, on_proven_absent)
      select g.mid, g.at, now(), g.tenant_id, g.business_key, g.event_type, g.event_id, g.event_version, g.campaign_id,
        g.channel::sendledger.message_channel, g.message_class::sendledger.message_class, g.recipient, g.country, g.sender, g.route_id, g.provider,
        g.body, g.bill_encoding, g.bill_segments::smallint, g.template_id, g.template_version::integer, g.template_params::jsonb, g.dlt_entity_id, g.dlt_template_id,
        g.scheduled_at, g.scheduled_tz, g.due, g.deadline, case when g.message_class = 'otp' then 'stop' else coalesce(g.on_proven_absent, 'replay') end
      from good g join won w on w.message_id = g.mid
      returning id, attempt_key
    )
    select n.ord, n.problem, n.tenant_id, n.business_key, n.content_hash, n.at, n.route_id, n.message_class, m.id, m.attempt_key
    from numbered n
    left join good g on g.ord = n.ord
    left join made m on m.id = g.mid
    order by n.ord
  loop
    a := null;
    a.ord := item.ord;
    if item.problem is not null then
      a.answer := 'invalid';
      a.field := split_part(item.problem, ':', 1);
      a.reason := substr(item.problem, length(a.field) + 2);
    elsif item.id is not null then
      a.answer := 'created';
      a.message_id := item.id::text;
      a.message_created_at := to_char(item.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
      a.attempt_key := item.attempt_key::text;
      a.lane := item.route_id::text || '.' || item.message_class;
      if item.message_class = 'otp' then codes := codes || item.id; end if;
    else
      -- A second statement, because the first one's snapshot cannot see a winner that committed while it waited. One table at
      -- a time, by its whole key: joined, and without nested loops, it would read the table.
      select k.message_id, k.message_created_at, k.content_hash into winner
      from sendledger.message_key k
      where k.tenant_id = item.tenant_id and k.business_key = item.business_key;
      select m.attempt_key::text into a.attempt_key
      from sendledger.outbound_message m
      where m.id = winner.message_id and m.created_at = winner.message_created_at;
      a.answer := case when winner.content_hash = item.content_hash then 'duplicate' else 'conflict' end;
      a.message_id := winner.message_id::text;
      a.message_created_at := to_char(winner.message_created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
      a.field := case when a.answer = 'conflict' then 'body' end;
      a.reason := case when a.answer = 'conflict' then 'the same business key is taken by a message with other content' end;
    end if;
    return next a;
  end loop;
  if cardinality(codes) > 0 then perform sendledger.supersede_codes(codes, date_trunc('milliseconds', now())); end if;
end
$enqueue$;

-- What became of a tenant's messages: by id, by business key, or all of an event. Without text or parameters. A message whose
-- month is gone still has its key, and the last state that was noted there.
create function sendledger.find_messages(p_tenant text, p_message_id bigint, p_business_key text, p_event_type text, p_event_id text, p_limit integer)
returns table (id text, created_at timestamptz, business_key text, attempt_key text, replaces_id text, event_type text, event_id text,
  campaign_id text, channel text, message_class text, recipient text, state text, state_reason text, attempt_count integer, due_at timestamptz,
  submit_by timestamptz, scheduled_for timestamptz, submitted_at timestamptz, delivered_at timestamptz, provider text, provider_txn_id text,
  provider_message_id text, provider_status_code text, provider_cause text, billable_units integer, cost text, cost_currency text,
  cost_source text, conflict boolean)
language plpgsql stable security definer set search_path = pg_catalog, sendledger, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $find$
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
$find$;

revoke execute on function
  sendledger.record_cancellation(text, text, bigint, text, text, text, text, sendledger.message_class, timestamptz, text, text, bigint),
  sendledger.covered_messages(sendledger.cancellation, bigint, integer, boolean, timestamptz),
  sendledger.cancel_step(text, bigint, timestamptz, bigint, integer, boolean),
  sendledger.cancel_outcome(sendledger.covered_message),
  sendledger.cancel_answer(text, bigint, integer),
  sendledger.cancel_preview(text, text, bigint, text, text, text, text, sendledger.message_class, timestamptz),
  sendledger.supersede_codes(bigint[], timestamptz),
  sendledger.find_messages(text, bigint, text, text, text, integer) from public;
-- An application cancels what is its own, and looks it up, without a right on any table.
grant execute on function
  sendledger.record_cancellation(text, text, bigint, text, text, text, text, sendledger.message_class, timestamptz, text, text, bigint),
  sendledger.cancel_step(text, bigint, timestamptz, bigint, integer, boolean),
  sendledger.cancel_answer(text, bigint, integer),
  sendledger.cancel_preview(text, text, bigint, text, text, text, text, sendledger.message_class, timestamptz),
  sendledger.find_messages(text, bigint, text, text, text, integer)
  to sendledger_producer, sendledger_cli, sendledger_ops;
