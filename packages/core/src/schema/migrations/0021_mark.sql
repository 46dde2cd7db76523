-- The mark as one statement of its caller's. It locks the route, and everybody who marks on it waits for that: between the lock and the
-- commit the worker has no word any more, so that a busy one does not hold the others up.
--
-- THE list of conditions under which a request may leave; there is no other. The submission is open, its lease alive, the time before
-- `not_after`; route and lane not paused, nor told to wait, nor at a rate of 0; the breaker closed, or this is the probe whose time has
-- come; requests and rows on the wire under the route's bounds (ambiguous ones hold no place); no hold; and the dataset is the one the
-- submission was claimed in: epoch number, environment, cluster and timeline.
--
-- One row for each message of what was marked: what its request is built from.
create function sendledger.mark_next(p_route bigint, p_class sendledger.message_class, p_limit integer, p_environment text, p_worker bigint,
  p_lease_ms double precision, p_row_limit bigint)
returns table (submission_id bigint, submission_created_at timestamptz, size integer, lease_token uuid, requested_at timestamptz, is_probe boolean, not_after timestamptz,
  id bigint, created_at timestamptz, attempt_key uuid, recipient text, sender_id text, body text, encoding text, dlt_entity_id text, dlt_template_id text,
  attempt_count smallint, submit_by timestamptz, hold_until timestamptz)
language plpgsql set search_path = pg_catalog, sendledger, pg_temp set jit = off as $mark$
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
$mark$;
revoke execute on function sendledger.mark_next(bigint, sendledger.message_class, integer, text, bigint, double precision, bigint) from public;
grant execute on function sendledger.mark_next(bigint, sendledger.message_class, integer, text, bigint, double precision, bigint) to sendledger_submit;
