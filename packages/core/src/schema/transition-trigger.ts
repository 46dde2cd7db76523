import { FINAL_STATES, TRANSITIONS, type Transition } from '../domain/state.ts';

const quote = (word: string) => `'${word}'`;
const list = (words: readonly string[]) => words.map(quote).join(', ');

function groupBy<K extends string>(key: (t: Transition) => K, rows: readonly Transition[]): Map<K, Transition[]> {
  const groups = new Map<K, Transition[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

/** `old.state` and `new.state` are a pair of the table: what the row can judge alone. */
function legalPair(): string {
  return [...groupBy((t) => t.from, TRANSITIONS)]
    .map(([from, rows]) => `(old.state = ${quote(from)} and new.state in (${list(rows.map((t) => t.to))}))`)
    .join('\n      or ');
}

function pairNeedingReason(): string {
  return TRANSITIONS.filter((t) => t.needsReason)
    .map((t) => `(old.state = ${quote(t.from)} and new.state = ${quote(t.to)})`)
    .join(' or ');
}

/** The pair is legal under the state of the submission it leaves or enters: what needs a look at another row. */
function legalUnderSubmission(): string {
  return TRANSITIONS.filter((t) => t.under !== undefined)
    .map((t) => `(m.was = ${quote(t.from)} and m.becomes = ${quote(t.to)} and s.state in (${list(t.under ?? [])}))`)
    .join('\n        or ');
}

/** Columns that say what is sent and to whom: frozen from the first claim. */
const CONTENT = [
  'recipient',
  'country',
  'channel',
  'message_class',
  'sender_id',
  'body',
  'encoding',
  'segments',
  'template_id',
  'template_version',
  'template_params',
  'dlt_entity_id',
  'dlt_template_id',
];

/** Columns that say which message this is: frozen from the insert. */
const IDENTITY = [
  'id',
  'created_at',
  'tenant_id',
  'business_key',
  'attempt_key',
  'event_type',
  'event_id',
  'replaces_id',
  'replaces_created_at',
];

/** Facts that are written once and never again. */
const SET_ONCE = [
  'provider_txn_id',
  'provider_message_id',
  'provider_campaign_id',
  'submitted_at',
  'delivered_at',
  'billed_after_close_at',
];

const changed = (columns: readonly string[]) =>
  `(${columns.map((c) => `old.${c}`).join(', ')}) is distinct from (${columns.map((c) => `new.${c}`).join(', ')})`;

const RULES: readonly { name: string; breaks: string; says: string }[] = [
  {
    name: 'state',
    breaks: `old.state is distinct from new.state and not (
      ${legalPair()})`,
    says: "format('illegal transition %s -> %s on outbound_message %s', old.state, new.state, old.id)",
  },
  {
    name: 'reason',
    // Its own reason: an unknown row already carries one, which says why it is unknown.
    breaks: `(new.state_reason is null or new.state_reason is not distinct from old.state_reason) and (${pairNeedingReason()})`,
    says: "format('%s -> %s on outbound_message %s needs a stored reason', old.state, new.state, old.id)",
  },
  {
    name: 'identity',
    breaks: changed(IDENTITY),
    says: "format('the identity of outbound_message %s is frozen', old.id)",
  },
  {
    name: 'content',
    // Redaction of final rows has its own function, which runs as the owner; nobody logs in as the owner.
    breaks: `(old.claimed_at is not null or old.state not in ('pending', 'retry')) and ${changed(CONTENT)}
      and not (old.state in (${list(FINAL_STATES)}) and current_user = 'sendledger_owner')`,
    says: "format('recipient and content of outbound_message %s are frozen since its first claim', old.id)",
  },
  {
    name: 'claimed_at',
    breaks: 'old.claimed_at is not null and new.claimed_at is null',
    says: "format('claimed_at of outbound_message %s cannot be unset', old.id)",
  },
  {
    name: 'submission',
    breaks: `(old.submission_id, old.submission_created_at) is distinct from (new.submission_id, new.submission_created_at)
      and not (old.state in ('pending', 'retry') and new.state = 'claimed' and new.submission_id is not null)
      and not (old.state = 'claimed' and new.state = 'pending' and new.submission_id is null)`,
    says: "format('submission_id of outbound_message %s changes only with a claim or a release', old.id)",
  },
  {
    name: 'route',
    breaks:
      "(old.route_id, old.provider) is distinct from (new.route_id, new.provider) and old.state not in ('pending', 'retry')",
    says: "format('the route of outbound_message %s is frozen outside pending and retry', old.id)",
  },
  {
    name: 'quote',
    breaks: `(old.quoted_units, old.quoted_cost, old.quoted_currency) is distinct from (new.quoted_units, new.quoted_cost, new.quoted_currency)
      and not (new.state = 'claimed' and old.state in ('pending', 'retry'))`,
    says: "format('the quote of outbound_message %s is written by a claim only', old.id)",
  },
  {
    name: 'cost',
    breaks: `old.cost is not null and
      (old.cost, old.billable_units, old.cost_currency, old.cost_source) is distinct from (new.cost, new.billable_units, new.cost_currency, new.cost_source)`,
    says: "format('the cost of outbound_message %s is set once', old.id)",
  },
  {
    name: 'cost source',
    // These two words excuse a missing cost, so only the role that writes rows with a past may use them.
    breaks: `old.cost_source is distinct from new.cost_source and new.cost_source in ('imported', 'recovered')
      and current_user <> 'sendledger_import'`,
    says: "format('outbound_message %s was neither imported nor recovered by this writer', old.id)",
  },
  {
    name: 'requested_at',
    // Each attempt has its own; between them, and after the last, it is the fact by which unknown rows are found.
    breaks: `old.requested_at is not null and old.requested_at is distinct from new.requested_at and old.state <> 'claimed'`,
    says: "format('the time of the request of outbound_message %s is written by an outcome only', old.id)",
  },
  {
    name: 'set once',
    breaks: SET_ONCE.map((c) => `(old.${c} is not null and new.${c} is distinct from old.${c})`).join('\n      or '),
    says: `format('a fact of outbound_message %s is set once (${SET_ONCE.join(', ')})', old.id)`,
  },
  {
    name: 'attempts',
    breaks: 'new.attempt_count not between old.attempt_count and old.attempt_count + 1',
    says: "format('attempt_count of outbound_message %s goes up by one', old.id)",
  },
];

/**
 * The guards of `outbound_message`, generated from the state table. What a row can judge alone stands in the trigger's
 * WHEN clause: no function is called for a legal update, so the guard costs next to nothing. What has to look at the
 * submission is one AFTER STATEMENT trigger with transition tables and one locking check for all rows: a look-up row by
 * row costs ten times as much. Locking, because a check that only reads would let a mark and a release both commit; the
 * transaction of a legal move wrote the submission before, so the lock makes nobody wait.
 */
export function guardSql(): string {
  const raises = RULES.map(
    (rule) => `  if ${rule.breaks} then
    raise exception using errcode = '23514', constraint = 'guard: ${rule.name}', message = ${rule.says};
  end if;`,
  ).join('\n');
  const when = RULES.map((rule) => `    (${rule.breaks})`).join('\n    or\n');

  return `-- Generated from domain/state.ts by schema/transition-trigger.ts; a test fails when this file is stale.
-- Renew it with \`node packages/core/src/schema/generate-guards.ts\`.

create function sendledger.refuse_message_update() returns trigger language plpgsql
set search_path = pg_catalog, sendledger, pg_temp as $guard$
begin
${raises}
  raise exception using errcode = '23514', message = format('illegal update of outbound_message %s', old.id);
end
$guard$;

create trigger guard_update before update on sendledger.outbound_message
  for each row when (
${when}
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
        ${legalUnderSubmission()})
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
`;
}
