-- An instant as programs read it.
create function sendledger.iso_text(p_at timestamptz) returns text
language sql stable as $iso$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $iso$;
revoke execute on function sendledger.iso_text(timestamptz) from public;

-- As in 0011, and: what a tenant may send, templates of one-time passwords, windows, wall-clock schedules, schedules that a provider
-- holds, and what a message falls back to.
create or replace function sendledger.enqueue_set(p_messages json, p_ords integer[]) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set enable_nestloop = off set jit = off set plan_cache_mode = force_generic_plan as $enqueue$
declare
  answers sendledger.enqueue_answer[];
  taken boolean;
  codes bigint[];
  winner record;
  a sendledger.enqueue_answer;
begin
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
    ), steps as materialized (
      select g.ord, e.step, g.tenant_id, g.message_class, i.*
      from given g
      cross join lateral json_array_elements(case when json_typeof(g.fallback) = 'array' and json_array_length(g.fallback) <= 5 then g.fallback else '[]'::json end) with ordinality as e(value, step)
      cross join lateral json_to_record(case when json_typeof(e.value) = 'object' then e.value else '{}'::json end) as i(
        channel text, route text, sender_id text, body text, encoding text, segments text, ascii_encoding text, ascii_segments text,
        template_id text, template_version text, template_params json, dlt_entity_id text, dlt_template_id text, after_s text, may_duplicate boolean)
      where g.fallback is not null
    ), wanted as materialized (
      select g.tenant_id, g.channel, g.message_class, g.route from given g
      union
      select s.tenant_id, s.channel, s.message_class, s.route from steps s
    ), chosen as materialized (
      -- The message's route, else the tenant's for channel and class, else the channel's only one.
      select w.*, r.id as route_id, r.provider, r.encoding_rule, r.default_sender_id, r.sender_required, r.national_digits, l.submit_within, l.route_id is not null as has_lane,
        r.provider_zone, r.schedule_lead, l.window_opens, l.window_closes, l.window_zone,
        sendledger.due_in_window(date_trunc('milliseconds', now()), l.window_opens, l.window_closes, l.window_zone) as due_now,
        coalesce((select w.message_class = any (t.allowed_classes::text[]) from sendledger.tenant t where t.tenant_id = w.tenant_id), true) as allowed
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
    ), judged_steps as materialized (
      select x.*, case
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
        select s.*, c.route_id, c.has_lane, c.sender_required, c.national_digits, coalesce(s.sender_id, c.default_sender_id) as sender,
          case when c.encoding_rule = 'ascii' then coalesce(s.ascii_encoding, case when octet_length(s.body) = length(s.body) then s.encoding end)
            else s.encoding end as bill_encoding,
          case when c.encoding_rule = 'ascii' then coalesce(s.ascii_segments, case when octet_length(s.body) = length(s.body) then s.segments end)
            else s.segments end as bill_segments
        from steps s
        left join chosen c on c.tenant_id is not distinct from s.tenant_id and c.channel is not distinct from s.channel
          and c.message_class is not distinct from s.message_class and c.route is not distinct from s.route
      ) x
    ), chains as materialized (
      select s.ord, min(s.problem) as problem, min(s.step)::smallint as first_step, array_agg(distinct s.national_digits) as national_digits
      from judged_steps s group by s.ord
    ), read as materialized (
      select g.*, c.route_id, c.provider, c.submit_within, c.sender_required, c.national_digits, coalesce(g.sender_id, c.default_sender_id) as sender,
        coalesce(c.has_lane, false) as has_lane,
        case when c.encoding_rule = 'ascii' then coalesce(g.ascii_encoding, case when octet_length(g.body) = length(g.body) then g.encoding end)
          else g.encoding end as bill_encoding,
        case when c.encoding_rule = 'ascii' then coalesce(g.ascii_segments, case when octet_length(g.body) = length(g.body) then g.segments end)
          else g.segments end as bill_segments,
        c.allowed, c.provider_zone, c.schedule_lead, c.window_opens, c.window_closes, c.window_zone, c.due_now,
        case when g.scheduled_for is not null then sendledger.read_schedule(g.scheduled_for, g.scheduled_tz) end as schedule,
        case when g.submit_by is not null then sendledger.instant_or_null(g.submit_by) end as submit_at,
        date_trunc('milliseconds', now()) as at
      from given g
      left join chosen c on c.tenant_id is not distinct from g.tenant_id and c.channel is not distinct from g.channel
        and c.message_class is not distinct from g.message_class and c.route is not distinct from g.route
    ), timed as materialized (
      -- Held by the provider only what can be with it in time, at a time that its clock can say and its window allows. The rest is
      -- held by us.
      select x.*, (x.schedule).at as scheduled_at, case when x.held_by = 'provider' then (x.schedule).at > x.at + x.schedule_lead
          and sendledger.due_in_window((x.schedule).at, x.window_opens, x.window_closes, x.window_zone) = (x.schedule).at
          and (select w.earlier = w.later from sendledger.wall_clock((x.schedule).at at time zone x.provider_zone, x.provider_zone) w) end as ahead,
        case when (x.schedule).at > x.at then sendledger.due_in_window((x.schedule).at, x.window_opens, x.window_closes, x.window_zone) else x.due_now end as own_due
      from read x
    ), judged as materialized (
      select x.*, case when x.ahead then x.at else x.own_due end as due,
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
          when coalesce(x.submit_at, x.at + interval '1 s') <= x.at then 'submit_by:already past'
          when x.submit_at <= x.scheduled_at then 'submit_by:not after the schedule'
          when x.fallback is not null and json_typeof(x.fallback) <> 'array' then 'fallback:a list of steps'
          when x.fallback is not null and json_array_length(x.fallback) > 5 then 'fallback:at most 5 steps'
          when x.fallback is not null and x.channel = 'telegram' then 'fallback:a step reaches the same number, and this has none'
          when x.fallback is not null and x.recipient !~ '^[1-9][0-9]{6,14}$' then 'fallback:a step reaches the same number, and this is none'
          when ch.problem is not null then ch.problem
          when length(x.recipient) = any (ch.national_digits) then 'fallback:the provider of its route reads a number of this length as a national one'
        end as problem, ch.first_step
      from timed x
      left join chains ch on ch.ord = x.ord
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
        scheduled_for, scheduled_tz, scheduled_offset_s, held_by, due_at, submit_by, on_proven_absent, fallback_step, state_reason)
      select g.mid, g.at, now(), g.tenant_id, g.business_key, g.event_type, g.event_id, g.event_version, g.campaign_id,
        g.channel::sendledger.message_channel, g.message_class::sendledger.message_class, g.recipient, g.country, g.sender, g.route_id, g.provider,
        g.body, g.bill_encoding, g.bill_segments::smallint, g.template_id, g.template_version::integer, g.template_params::jsonb, g.dlt_entity_id, g.dlt_template_id,
        g.scheduled_at, g.scheduled_tz, (g.schedule).utc_offset_s, case when g.ahead then 'provider' else 'us' end, g.due, g.deadline,
        case when g.message_class = 'otp' then 'stop' else coalesce(g.on_proven_absent, 'replay') end,
        g.first_step,
        case when g.due > greatest(g.at, g.scheduled_at) then 'outside_window' end
      from good g join won w on w.message_id = g.mid
      returning id, attempt_key
    ), chained as (
      -- A key that was forgotten and came back may have left steps behind.
      insert into sendledger.fallback as f (tenant_id, business_key, step, channel, route_id, sender_id, body, encoding, segments,
        template_id, template_version, template_params, dlt_entity_id, dlt_template_id, after, may_duplicate, look_at)
      select g.tenant_id, g.business_key, s.step, s.channel::sendledger.message_channel, s.route_id, s.sender, s.body, s.bill_encoding, s.bill_segments::smallint,
        s.template_id, s.template_version::integer, s.template_params::jsonb, s.dlt_entity_id, s.dlt_template_id,
        s.after_s::integer * interval '1 s', coalesce(s.may_duplicate, false), case when s.step = 1 then greatest(g.due, g.scheduled_at) + s.after_s::integer * interval '1 s' end
      from judged_steps s join good g on g.ord = s.ord join won w on w.message_id = g.mid
      on conflict (tenant_id, business_key, step) do update
      set (channel, route_id, sender_id, body, encoding, segments, template_id, template_version, template_params, dlt_entity_id, dlt_template_id,
          after, may_duplicate, look_at, taken_at)
        = (excluded.channel, excluded.route_id, excluded.sender_id, excluded.body, excluded.encoding, excluded.segments, excluded.template_id,
          excluded.template_version, excluded.template_params, excluded.dlt_entity_id, excluded.dlt_template_id, excluded.after, excluded.may_duplicate,
          excluded.look_at, null)
    )
    -- What lost its key has no answer yet; its key stands where the ids come.
    select array_agg(case
        when n.problem is not null then row(n.ord, 'invalid', null, null, null, null, split_part(n.problem, ':', 1),
          substr(n.problem, strpos(n.problem, ':') + 1))::sendledger.enqueue_answer
        when m.id is not null then row(n.ord, 'created', m.id::text, sendledger.iso_text(n.at), m.attempt_key::text,
          n.route_id::text || '.' || n.message_class, null, null)::sendledger.enqueue_answer
        else row(n.ord, null, n.business_key, null, n.tenant_id, encode(n.content_hash, 'hex'), null, null)::sendledger.enqueue_answer
      end order by n.ord),
      coalesce(bool_or(n.problem is null and m.id is null), false), array_agg(m.id order by n.ord) filter (where n.message_class = 'otp' and m.id is not null)
    into answers, taken, codes
    from numbered n
    left join good g on g.ord = n.ord
    left join made m on m.id = g.mid;

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
  if codes is not null then perform sendledger.supersede_codes(codes, date_trunc('milliseconds', now())); end if;
  return query select * from unnest(answers);
end
$enqueue$;

-- As in 0008, and: what is no object is sorted out here, since the set takes objects only.
create or replace function sendledger.enqueue(p_messages json) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $enqueue$
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
$enqueue$;
