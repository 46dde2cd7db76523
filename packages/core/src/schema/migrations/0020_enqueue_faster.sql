-- The same answers as 0019, for less: a message without a chain pays nothing for chains, a row goes through fewer passes (each one
-- copies it, text and all), and a call that is all or nothing needs no savepoint of the caller's.

-- The message's route, else the tenant's for channel and class, else the channel's only one.
create function sendledger.route_for(p_tenant text, p_channel text, p_class text, p_route text) returns bigint
language sql stable as $route$
  select case
    when p_route is not null then (select x.id from sendledger.route x
      where x.name = p_route and x.channel::text = p_channel and x.retired_at is null)
    else coalesce(
      (select t.route_id from sendledger.tenant_route t join sendledger.route x on x.id = t.route_id
        where t.tenant_id = p_tenant and t.channel::text = p_channel and t.message_class::text = p_class and x.retired_at is null),
      (select min(x.id) from sendledger.route x
        where x.channel::text = p_channel and x.retired_at is null having count(*) = 1))
  end
$route$;
revoke execute on function sendledger.route_for(text, text, text, text) from public;

-- A step of a chain, judged: `problem` is null, or what is wrong with it.
create type sendledger.enqueue_step as (
  ord integer, step smallint, channel text, route_id bigint, sender_id text, body text, encoding text, segments text,
  template_id text, template_version text, template_params json, dlt_entity_id text, dlt_template_id text, after_s text, may_duplicate boolean,
  national_digits integer, problem text
);

create function sendledger.judge_steps(p_messages json, p_ords integer[]) returns setof sendledger.enqueue_step
language sql stable set search_path = pg_catalog, sendledger, pg_temp as $steps$
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
$steps$;
revoke execute on function sendledger.judge_steps(json, integer[]) from public;

-- Each `offset 0` keeps what is worked out once from being worked out where it is used; unlike a materialised step it copies nothing.
create or replace function sendledger.enqueue_set(p_messages json, p_ords integer[]) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan as $enqueue$
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
      select g.mid, at_now, now(), g.tenant_id, g.business_key, g.attempt_key, g.event_type, g.event_id, g.event_version, g.campaign_id,
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
        when n.made then row(n.ord, 'created', n.mid::text, at_text, n.attempt_key::text,
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
$enqueue$;

-- All of the call or nothing: where one row is refused, none is written, and the answers say which and why. The caller's transaction
-- goes on.
create function sendledger.enqueue_all(p_messages json) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $all$
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
$all$;
revoke execute on function sendledger.enqueue_all(json) from public;
grant execute on function sendledger.enqueue_all(json) to sendledger_producer, sendledger_cli;
