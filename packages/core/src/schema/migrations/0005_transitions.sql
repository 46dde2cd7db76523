-- Generated from domain/state.ts by schema/transition-trigger.ts; a test fails when this file is stale.
-- Renew it with `node packages/core/src/schema/generate-guards.ts`.

create function sendledger.refuse_message_update() returns trigger language plpgsql
set search_path = pg_catalog, sendledger, pg_temp as $guard$
begin
  if old.state is distinct from new.state and not (
      (old.state = 'pending' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'claimed' and new.state in ('pending', 'retry', 'submitted', 'rejected', 'unknown'))
      or (old.state = 'retry' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'submitted' and new.state in ('delivered', 'failed', 'expired'))
      or (old.state = 'unknown' and new.state in ('submitted', 'failed'))) then
    raise exception using errcode = '23514', constraint = 'guard: state', message = format('illegal transition %s -> %s on outbound_message %s', old.state, new.state, old.id);
  end if;
  if (new.state_reason is null or new.state_reason is not distinct from old.state_reason) and ((old.state = 'unknown' and new.state = 'failed')) then
    raise exception using errcode = '23514', constraint = 'guard: reason', message = format('%s -> %s on outbound_message %s needs a stored reason', old.state, new.state, old.id);
  end if;
  if (old.id, old.created_at, old.tenant_id, old.business_key, old.attempt_key, old.event_type, old.event_id, old.replaces_id, old.replaces_created_at) is distinct from (new.id, new.created_at, new.tenant_id, new.business_key, new.attempt_key, new.event_type, new.event_id, new.replaces_id, new.replaces_created_at) then
    raise exception using errcode = '23514', constraint = 'guard: identity', message = format('the identity of outbound_message %s is frozen', old.id);
  end if;
  if (old.claimed_at is not null or old.state not in ('pending', 'retry')) and (old.recipient, old.country, old.channel, old.message_class, old.sender_id, old.body, old.encoding, old.segments, old.template_id, old.template_version, old.template_params, old.dlt_entity_id, old.dlt_template_id) is distinct from (new.recipient, new.country, new.channel, new.message_class, new.sender_id, new.body, new.encoding, new.segments, new.template_id, new.template_version, new.template_params, new.dlt_entity_id, new.dlt_template_id)
      and not (old.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded') and current_user = 'sendledger_owner') then
    raise exception using errcode = '23514', constraint = 'guard: content', message = format('recipient and content of outbound_message %s are frozen since its first claim', old.id);
  end if;
  if old.claimed_at is not null and new.claimed_at is null then
    raise exception using errcode = '23514', constraint = 'guard: claimed_at', message = format('claimed_at of outbound_message %s cannot be unset', old.id);
  end if;
  if (old.submission_id, old.submission_created_at) is distinct from (new.submission_id, new.submission_created_at)
      and not (old.state in ('pending', 'retry') and new.state = 'claimed' and new.submission_id is not null)
      and not (old.state = 'claimed' and new.state = 'pending' and new.submission_id is null) then
    raise exception using errcode = '23514', constraint = 'guard: submission', message = format('submission_id of outbound_message %s changes only with a claim or a release', old.id);
  end if;
  if (old.route_id, old.provider) is distinct from (new.route_id, new.provider) and old.state not in ('pending', 'retry') then
    raise exception using errcode = '23514', constraint = 'guard: route', message = format('the route of outbound_message %s is frozen outside pending and retry', old.id);
  end if;
  if (old.quoted_units, old.quoted_cost, old.quoted_currency) is distinct from (new.quoted_units, new.quoted_cost, new.quoted_currency)
      and not (new.state = 'claimed' and old.state in ('pending', 'retry')) then
    raise exception using errcode = '23514', constraint = 'guard: quote', message = format('the quote of outbound_message %s is written by a claim only', old.id);
  end if;
  if old.cost is not null and
      (old.cost, old.billable_units, old.cost_currency, old.cost_source) is distinct from (new.cost, new.billable_units, new.cost_currency, new.cost_source) then
    raise exception using errcode = '23514', constraint = 'guard: cost', message = format('the cost of outbound_message %s is set once', old.id);
  end if;
  if old.cost_source is distinct from new.cost_source and new.cost_source in ('imported', 'recovered')
      and current_user <> 'sendledger_import' then
    raise exception using errcode = '23514', constraint = 'guard: cost source', message = format('outbound_message %s was neither imported nor recovered by this writer', old.id);
  end if;
  if old.requested_at is not null and old.requested_at is distinct from new.requested_at and old.state <> 'claimed' then
    raise exception using errcode = '23514', constraint = 'guard: requested_at', message = format('the time of the request of outbound_message %s is written by an outcome only', old.id);
  end if;
  if (old.provider_txn_id is not null and new.provider_txn_id is distinct from old.provider_txn_id)
      or (old.provider_message_id is not null and new.provider_message_id is distinct from old.provider_message_id)
      or (old.provider_campaign_id is not null and new.provider_campaign_id is distinct from old.provider_campaign_id)
      or (old.submitted_at is not null and new.submitted_at is distinct from old.submitted_at)
      or (old.delivered_at is not null and new.delivered_at is distinct from old.delivered_at)
      or (old.billed_after_close_at is not null and new.billed_after_close_at is distinct from old.billed_after_close_at) then
    raise exception using errcode = '23514', constraint = 'guard: set once', message = format('a fact of outbound_message %s is set once (provider_txn_id, provider_message_id, provider_campaign_id, submitted_at, delivered_at, billed_after_close_at)', old.id);
  end if;
  if new.attempt_count not between old.attempt_count and old.attempt_count + 1 then
    raise exception using errcode = '23514', constraint = 'guard: attempts', message = format('attempt_count of outbound_message %s goes up by one', old.id);
  end if;
  raise exception using errcode = '23514', message = format('illegal update of outbound_message %s', old.id);
end
$guard$;

create trigger guard_update before update on sendledger.outbound_message
  for each row when (
    (old.state is distinct from new.state and not (
      (old.state = 'pending' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'claimed' and new.state in ('pending', 'retry', 'submitted', 'rejected', 'unknown'))
      or (old.state = 'retry' and new.state in ('claimed', 'expired', 'cancelled'))
      or (old.state = 'submitted' and new.state in ('delivered', 'failed', 'expired'))
      or (old.state = 'unknown' and new.state in ('submitted', 'failed'))))
    or
    ((new.state_reason is null or new.state_reason is not distinct from old.state_reason) and ((old.state = 'unknown' and new.state = 'failed')))
    or
    ((old.id, old.created_at, old.tenant_id, old.business_key, old.attempt_key, old.event_type, old.event_id, old.replaces_id, old.replaces_created_at) is distinct from (new.id, new.created_at, new.tenant_id, new.business_key, new.attempt_key, new.event_type, new.event_id, new.replaces_id, new.replaces_created_at))
    or
    ((old.claimed_at is not null or old.state not in ('pending', 'retry')) and (old.recipient, old.country, old.channel, old.message_class, old.sender_id, old.body, old.encoding, old.segments, old.template_id, old.template_version, old.template_params, old.dlt_entity_id, old.dlt_template_id) is distinct from (new.recipient, new.country, new.channel, new.message_class, new.sender_id, new.body, new.encoding, new.segments, new.template_id, new.template_version, new.template_params, new.dlt_entity_id, new.dlt_template_id)
      and not (old.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded') and current_user = 'sendledger_owner'))
    or
    (old.claimed_at is not null and new.claimed_at is null)
    or
    ((old.submission_id, old.submission_created_at) is distinct from (new.submission_id, new.submission_created_at)
      and not (old.state in ('pending', 'retry') and new.state = 'claimed' and new.submission_id is not null)
      and not (old.state = 'claimed' and new.state = 'pending' and new.submission_id is null))
    or
    ((old.route_id, old.provider) is distinct from (new.route_id, new.provider) and old.state not in ('pending', 'retry'))
    or
    ((old.quoted_units, old.quoted_cost, old.quoted_currency) is distinct from (new.quoted_units, new.quoted_cost, new.quoted_currency)
      and not (new.state = 'claimed' and old.state in ('pending', 'retry')))
    or
    (old.cost is not null and
      (old.cost, old.billable_units, old.cost_currency, old.cost_source) is distinct from (new.cost, new.billable_units, new.cost_currency, new.cost_source))
    or
    (old.cost_source is distinct from new.cost_source and new.cost_source in ('imported', 'recovered')
      and current_user <> 'sendledger_import')
    or
    (old.requested_at is not null and old.requested_at is distinct from new.requested_at and old.state <> 'claimed')
    or
    ((old.provider_txn_id is not null and new.provider_txn_id is distinct from old.provider_txn_id)
      or (old.provider_message_id is not null and new.provider_message_id is distinct from old.provider_message_id)
      or (old.provider_campaign_id is not null and new.provider_campaign_id is distinct from old.provider_campaign_id)
      or (old.submitted_at is not null and new.submitted_at is distinct from old.submitted_at)
      or (old.delivered_at is not null and new.delivered_at is distinct from old.delivered_at)
      or (old.billed_after_close_at is not null and new.billed_after_close_at is distinct from old.billed_after_close_at))
    or
    (new.attempt_count not between old.attempt_count and old.attempt_count + 1)
  ) execute function sendledger.refuse_message_update();

-- The submission's side of a move. It locks what it reads: mark and release both write the submission row, so of a mark
-- and a release that meet here exactly one commits, and of two that fill one submission too. enable_nestloop is off because a plan cached for one row would join
-- five hundred by a nested loop; jit is off because compiling would take longer than a thousand checks.
create function sendledger.check_submission_moves() returns trigger language plpgsql security definer
set search_path = pg_catalog, sendledger, pg_temp set enable_nestloop = off set jit = off as $guard$
declare
  bad record;
  entered bigint;
  filled bigint[];
begin
  with moved as materialized (
    select n.id, o.state as was, n.state as becomes, n.route_id, n.message_class,
           case when n.state = 'claimed' then n.submission_id else o.submission_id end as submission_id,
           case when n.state = 'claimed' then n.submission_created_at else o.submission_created_at end as submission_created_at
    from old_rows o join new_rows n on n.id = o.id
    where o.state is distinct from n.state and (o.state = 'claimed' or n.state = 'claimed')
  ), s as materialized (
    select s.id, s.created_at, s.state, s.size, s.route_id, s.message_class
    from sendledger.submission s
    where s.id = any (array(select m.submission_id from moved m))
      and s.created_at >= (select min(m.submission_created_at) from moved m)
      and s.created_at <= (select max(m.submission_created_at) from moved m)
    for no key update
  ), filled as (
    select m.submission_id, count(*) as messages from moved m where m.becomes = 'claimed' group by 1
  )
  select m.id, m.was, m.becomes, m.submission_id, s.state as submission_state,
         (m.becomes = 'claimed' and s.state = 'open') as misfit
  into bad
  from moved m
  left join s on s.id = m.submission_id and s.created_at = m.submission_created_at
  left join filled f on f.submission_id = m.submission_id and m.becomes = 'claimed'
  where s.id is null
     or not (
        (m.was = 'pending' and m.becomes = 'claimed' and s.state in ('open'))
        or (m.was = 'claimed' and m.becomes = 'pending' and s.state in ('released'))
        or (m.was = 'claimed' and m.becomes = 'retry' and s.state in ('refused', 'not_sent'))
        or (m.was = 'claimed' and m.becomes = 'submitted' and s.state in ('accepted'))
        or (m.was = 'claimed' and m.becomes = 'rejected' and s.state in ('accepted', 'refused'))
        or (m.was = 'claimed' and m.becomes = 'unknown' and s.state in ('accepted', 'ambiguous'))
        or (m.was = 'retry' and m.becomes = 'claimed' and s.state in ('open')))
     -- A submission is filled by one statement, with rows of its own lane, exactly to its size.
     or (m.becomes = 'claimed' and (f.messages <> s.size or m.route_id <> s.route_id or m.message_class <> s.message_class))
  limit 1;
  if found then
    raise exception using errcode = '23514', constraint = 'guard: submission',
      message = case when bad.misfit
        then format('outbound_message %s does not fit submission %s: other lane, or not filled to its size', bad.id, bad.submission_id)
        else format('illegal transition %s -> %s on outbound_message %s: its submission %s is %s', bad.was, bad.becomes,
          bad.id, bad.submission_id, coalesce(bad.submission_state::text, 'absent')) end;
  end if;

  -- Filled once: what another statement claimed into the same submission before counts too. Each one was filled to its
  -- size just now, so the sum is enough. The lock above makes two that fill it at the same time come here one after the
  -- other, and this statement sees what the first committed.
  select count(*), array_agg(distinct n.submission_id) into entered, filled
  from old_rows o join new_rows n on n.id = o.id
  where o.state <> 'claimed' and n.state = 'claimed';
  if entered > 0 and entered <> (
    select count(*) from sendledger.outbound_message m
    where m.submission_id = any (filled) and m.state in ('claimed', 'submitted', 'unknown')
  ) then
    raise exception using errcode = '23514', constraint = 'guard: submission',
      message = 'a submission is filled once, and one of this statement was filled before';
  end if;
  return null;
end
$guard$;
