-- Guards that are not part of the state table. Each one holds for every writer, raw SQL included.

create function sendledger.refuse() returns trigger language plpgsql
set search_path = pg_catalog, sendledger, pg_temp as $guard$
begin
  raise exception using errcode = '23514', constraint = 'guard: ' || tg_name, message = tg_argv[0];
end
$guard$;

-- An insert is an intent. Only the import role, by name and never by membership, may write a row with a past; a definer
-- function runs as the owner, which is not that role.
create trigger guard_insert before insert on sendledger.outbound_message
  for each row when (
    current_user <> 'sendledger_import' and (
      new.state <> 'pending' or new.attempt_count <> 0 or new.conflict
      or new.submission_id is not null or new.provider_txn_id is not null or new.provider_message_id is not null
      or new.provider_campaign_id is not null or new.provider_status_code is not null or new.provider_cause is not null
      or new.cost is not null or new.cost_source is not null or new.quoted_cost is not null
      or new.claimed_at is not null or new.requested_at is not null or new.submitted_at is not null
      or new.delivered_at is not null or new.reconciled_at is not null or new.billed_after_close_at is not null
      or new.receipt_by is not null or new.correlation_result is not null or new.correlation_window_ms is not null
    )
  ) execute function sendledger.refuse('a message is inserted pending and without a past; imports run as sendledger_import');

create trigger guard_delete before delete on sendledger.outbound_message
  for each row when (old.state not in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded'))
  execute function sendledger.refuse('a message that is not final cannot be deleted');

create trigger guard_truncate before truncate on sendledger.outbound_message
  for each statement execute function sendledger.refuse('messages are not truncated; a month is detached');

create trigger guard_update before update on sendledger.submission
  for each row when (
    (old.state is distinct from new.state and not (
      (old.state = 'open' and new.state in ('marked', 'released'))
      or (old.state = 'marked' and new.state in ('accepted', 'refused', 'not_sent', 'ambiguous'))
      or (old.state = 'ambiguous' and new.state in ('accepted', 'refused', 'not_sent'))))
    or (old.id, old.created_at, old.route_id, old.message_class, old.size, old.epoch_no, old.not_after, old.claimed_by, old.is_probe)
       is distinct from (new.id, new.created_at, new.route_id, new.message_class, new.size, new.epoch_no, new.not_after, new.claimed_by, new.is_probe)
    or ((old.requested_at, old.lease_token, old.marked_by, old.lease_until)
       is distinct from (new.requested_at, new.lease_token, new.marked_by, new.lease_until)
       and not (old.state = 'open' and new.state = 'marked'))
    -- An outcome is written with its time and its reason, or it is no outcome: a bare change of state proves nothing.
    or (old.state in ('marked', 'ambiguous') and new.state is distinct from old.state
       and (new.responded_at is null or new.outcome_reason is null or new.responded_at is not distinct from old.responded_at))
    or (old.provider_txn_id is not null and new.provider_txn_id is distinct from old.provider_txn_id)
    or (old.raw_reply is not null and new.raw_reply is distinct from old.raw_reply)
    -- An outcome comes with its state: marked or ambiguous to something else, and not in place.
    or ((old.state not in ('marked', 'ambiguous') or old.state = new.state) and
       (old.responded_at, old.outcome_reason, old.outcome_proof, old.provider_status_code, old.http_status)
       is distinct from (new.responded_at, new.outcome_reason, new.outcome_proof, new.provider_status_code, new.http_status))
  ) execute function sendledger.refuse('a fact of a submission is set once, and its state moves forward only');

create trigger guard_insert before insert on sendledger.submission
  for each row when (
    current_user <> 'sendledger_import' and (
      new.state <> 'open' or new.requested_at is not null or new.responded_at is not null or new.provider_txn_id is not null
      or new.provider_status_code is not null or new.http_status is not null or new.outcome_reason is not null
      or new.outcome_proof is not null or new.raw_reply is not null or new.poll_at is not null or new.polls <> 0)
  ) execute function sendledger.refuse('a submission is inserted open and without a past');

create trigger guard_delete before delete on sendledger.submission
  for each row when (old.state in ('open', 'marked', 'ambiguous'))
  execute function sendledger.refuse('a submission whose outcome is open cannot be deleted');

create trigger guard_truncate before truncate on sendledger.submission
  for each statement execute function sendledger.refuse('submissions are not truncated; a month is detached');

-- Evidence is append-only: it is matched and applied once, and nothing else about it changes.
create trigger guard_update before update on sendledger.delivery_receipt
  for each row when (
    (old.id, old.received_at, old.received_month, old.dedupe_hash, old.route_id, old.source, old.provider_txn_id,
     old.provider_message_id, old.recipient, old.sender_id, old.status_word, old.cause, old.provider_submitted_at,
     old.provider_delivered_at, old.evidence)
    is distinct from
    (new.id, new.received_at, new.received_month, new.dedupe_hash, new.route_id, new.source, new.provider_txn_id,
     new.provider_message_id, new.recipient, new.sender_id, new.status_word, new.cause, new.provider_submitted_at,
     new.provider_delivered_at, new.evidence)
    or (old.message_id is not null and (old.message_id, old.message_created_at) is distinct from (new.message_id, new.message_created_at))
    or (old.applied_at is not null and new.applied_at is distinct from old.applied_at)
    or (old.conflict and not new.conflict)
  ) execute function sendledger.refuse('a receipt is evidence: it is matched and applied once, and never changed');
create trigger guard_delete before delete on sendledger.delivery_receipt
  for each row execute function sendledger.refuse('a receipt is evidence and is not deleted');

-- Who owns a provider's message id is decided once; a second owner is an alarm, never an overwrite.
create trigger guard_update before update on sendledger.provider_message
  for each row execute function sendledger.refuse('the owner of a provider message id is never overwritten');
create trigger guard_delete before delete on sendledger.provider_message
  for each row execute function sendledger.refuse('the owner of a provider message id is never forgotten');

-- A forgotten key would let its message be made again.
create trigger guard_delete before delete on sendledger.message_key
  for each row when (old.forget_after is null or old.forget_after > now())
  execute function sendledger.refuse('a business key is kept until forget_after');

create trigger guard_update before update on sendledger.cancellation
  for each row execute function sendledger.refuse('a cancellation is a fact and does not change');
create trigger guard_delete before delete on sendledger.cancellation
  for each row execute function sendledger.refuse('a cancellation is a fact and is not deleted');

create trigger guard_truncate before truncate on sendledger.delivery_receipt
  for each statement execute function sendledger.refuse('receipts are not truncated; a month is detached');
create trigger guard_truncate before truncate on sendledger.message_key
  for each statement execute function sendledger.refuse('keys are not truncated: they are what makes a repeat a duplicate');
create trigger guard_truncate before truncate on sendledger.provider_message
  for each statement execute function sendledger.refuse('the owner of a provider message id is never forgotten');
create trigger guard_truncate before truncate on sendledger.cancellation
  for each statement execute function sendledger.refuse('a cancellation is a fact and is not deleted');

-- Redaction: the one writer that may change the content of a row, and only of a final one.
create function sendledger.redact_final(p_before timestamptz, p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $redact$
declare
  done integer;
begin
  with x as materialized (
    select m.id, m.created_at from sendledger.outbound_message m
    where m.created_at < p_before and m.body <> '[redacted]'
      and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded')
    limit p_limit for update skip locked
  )
  update sendledger.outbound_message m
  set body = '[redacted]', template_params = null, updated_at = now()
  from x
  where m.id = x.id and m.created_at = x.created_at
    and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded');
  get diagnostics done = row_count;
  return done;
end
$redact$;
