-- The unambiguous encoding of one part of a key: its length in octets, a colon, its bytes; a dash where it is absent.
-- No SET clause here and below: it would keep the planner from inlining them, at ten microseconds a call. All names in
-- them are built in or qualified.
create function sendledger.key_part(p_value text) returns text
language sql immutable parallel safe as $part$
  select case when p_value is null then '-' else octet_length(p_value)::text || ':' || p_value end
$part$;

-- The same function as businessKey() in domain/business-key.ts; a test holds them together. The database is UTF8 (the
-- migrator insists), so octets here are octets there. Stable only because convert_to is.
create function sendledger.business_key(
  p_tenant text, p_event_type text, p_event_id text, p_recipient text,
  p_template text, p_version text, p_step text, p_bucket text
) returns text
language sql stable parallel safe as $key$
  select encode(sha256(convert_to('sendledger.key.1'
    || sendledger.key_part(p_tenant) || sendledger.key_part(p_event_type) || sendledger.key_part(p_event_id)
    || sendledger.key_part(p_recipient) || sendledger.key_part(p_template) || sendledger.key_part(p_version)
    || sendledger.key_part(p_step) || sendledger.key_part(p_bucket), 'UTF8')), 'hex')
$key$;

-- An instant, or null where the text is none. Only called for the few fields that carry one.
create function sendledger.instant_or_null(p_value text) returns timestamptz
language plpgsql stable set search_path = pg_catalog as $instant$
begin
  -- Without an offset it would be read in the session's zone.
  if p_value !~ '^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|z|[+-]\d{2}(:?\d{2})?)$' then
    return null;
  end if;
  return p_value::timestamptz;
exception when data_exception then
  return null;
end
$instant$;

create type sendledger.enqueue_answer as (
  ord integer, answer text, message_id text, message_created_at text, attempt_key text, lane text, field text, reason text
);

-- The heart: all messages of one call, set-based. Keys first, in order, because inserting here first is what decides who
-- made the message; a concurrent holder of the same key is waited for. The messages are joined to the keys they won by
-- their new id, never by key, so that a repeat inside one call is not taken for the first.
-- enable_nestloop is off because the planner takes a JSON array for a hundred rows, and joins a thousand by nested loops.
-- jit is off because compiling this statement takes seconds where running it takes two milliseconds.
create function sendledger.enqueue_set(p_messages json, p_ords integer[]) returns setof sendledger.enqueue_answer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp set enable_nestloop = off set jit = off as $enqueue$
declare
  item record;
  winner record;
  a sendledger.enqueue_answer;
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
      insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash)
      select g.tenant_id, g.business_key, g.mid, g.at, g.content_hash from good g order by g.tenant_id, g.business_key
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
end
$enqueue$;

-- Whether the database can hold one message: a NUL or half a surrogate pair cannot be read out of JSON, and what is nested
-- deeper than the stack not at all.
create function sendledger.can_be_read(p_message json) returns boolean
language plpgsql immutable set search_path = pg_catalog as $read$
begin
  perform p_message::jsonb;
  return true;
exception when data_exception or program_limit_exceeded then
  return false;
end
$read$;

-- What a program calls. It never raises for data, so that a caller's order is not aborted by our message: what cannot be
-- stored is sorted out, and the rest goes as one set, since only a set takes its keys in order. A serialization failure or
-- a deadlock is not data, and passes through.
create function sendledger.enqueue(p_messages json) returns setof sendledger.enqueue_answer
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
    if sendledger.can_be_read(elements[i]) then
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
