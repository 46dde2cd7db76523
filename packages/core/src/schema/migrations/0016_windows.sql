-- When a message may leave: what a tenant may send, send windows, and wall-clock times.

-- Null: every class.
alter table sendledger.tenant add column allowed_classes sendledger.message_class[] check (cardinality(allowed_classes) > 0);

-- How long a message of this template is of use; of a one-time password the life of its code. Null: what the lane says.
alter table sendledger.message_template add column valid_for_s integer check (valid_for_s between 10 and 604800);

-- The send window of a lane, half-open, by the clock of a zone; over midnight where it closes before it opens. Null: always open.
alter table sendledger.lane
  add column window_opens time,
  add column window_closes time,
  add column window_zone text,
  add constraint lane_window_whole check ((window_opens is null) = (window_closes is null) and (window_opens is null) = (window_zone is null)),
  -- Equal would be always open, or never.
  add constraint lane_window_open check (window_opens <> window_closes);

-- What is shipped for India, for the routes that are there.
update sendledger.lane l set window_opens = '10:00', window_closes = '21:00', window_zone = 'Asia/Kolkata'
from sendledger.route r where r.id = l.route_id and l.message_class = 'promotional' and r.provider_zone = 'Asia/Kolkata';

-- A zone by its IANA name; null where this database does not know it.
create function sendledger.zone_or_null(p_zone text) returns text
language plpgsql stable set search_path = pg_catalog as $zone$
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
$zone$;

-- The two readings of a wall-clock time in a zone. They are one, but where an autumn repeats the hour (both are right) and where
-- a spring skips it (neither is). first: the common answer (RFC 5545 and others): of a repeated time the first, and a skipped one
-- as much later as was skipped.
create function sendledger.wall_clock(p_local timestamp, p_zone text, out first timestamptz, out earlier timestamptz, out later timestamptz)
language plpgsql stable set search_path = pg_catalog as $wall$
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
$wall$;

-- The window that is open at p_at, or the next one. On the two nights on which a clock changes it opens at the later and closes at the
-- earlier reading, so that nothing leaves at a time that anybody could call outside.
create function sendledger.window_at(p_at timestamptz, p_opens time, p_closes time, p_zone text, out opens_at timestamptz, out closes_at timestamptz)
language plpgsql stable set search_path = pg_catalog, sendledger, pg_temp as $window$
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
$window$;

-- p_at where the window is open then, else its next opening. No window: p_at.
create function sendledger.due_in_window(p_at timestamptz, p_opens time, p_closes time, p_zone text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, sendledger, pg_temp as $due$
declare
  opens timestamptz;
begin
  if p_zone is null or p_at is null then
    return p_at;
  end if;
  select w.opens_at into opens from sendledger.window_at(p_at, p_opens, p_closes, p_zone) w;
  return greatest(p_at, opens);
end
$due$;

-- A schedule as it was given: an instant with its offset, or the wall clock of a zone. utc_offset_s: the wall clock that was meant,
-- minus UTC; from it the instant is made again when the rules of the zone change. Null where the text is neither.
create type sendledger.schedule as (at timestamptz, utc_offset_s integer);
create function sendledger.read_schedule(p_text text, p_zone text) returns sendledger.schedule
language plpgsql stable set search_path = pg_catalog, sendledger, pg_temp as $read$
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
$read$;

revoke execute on function sendledger.zone_or_null(text), sendledger.wall_clock(timestamp, text),
  sendledger.window_at(timestamptz, time, time, text), sendledger.due_in_window(timestamptz, time, time, text),
  sendledger.read_schedule(text, text) from public;
grant execute on function sendledger.zone_or_null(text), sendledger.wall_clock(timestamp, text),
  sendledger.window_at(timestamptz, time, time, text), sendledger.due_in_window(timestamptz, time, time, text)
  to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill, sendledger_cli, sendledger_ops;
