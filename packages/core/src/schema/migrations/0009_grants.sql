-- Who may do what. The import role is the only one that may write a row with a past; nobody may truncate.
-- The migrator made the list of migrations before the roles were there; each start compares it with what it was built for.
grant select on sendledger.mikro_orm_migrations to sendledger_producer, sendledger_claim, sendledger_submit, sendledger_reconcile,
  sendledger_backfill, sendledger_ops, sendledger_cli, sendledger_import;
grant usage on schema sendledger to sendledger_producer, sendledger_claim, sendledger_submit, sendledger_reconcile,
  sendledger_backfill, sendledger_ops, sendledger_cli, sendledger_import;
revoke execute on all functions in schema sendledger from public;

-- An application: it enqueues through the function and looks up what it needs to build a message. It reads no message.
grant execute on function sendledger.enqueue(json) to sendledger_producer, sendledger_cli;
grant execute on function sendledger.business_key(text, text, text, text, text, text, text, text), sendledger.key_part(text)
  to sendledger_producer, sendledger_cli, sendledger_reconcile, sendledger_import;
grant select on sendledger.tenant, sendledger.message_template to sendledger_producer, sendledger_cli;

-- Every worker: its own row, the epoch, the house.
grant select, insert on sendledger.worker to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill;
grant update (last_seen_at, ended_at) on sendledger.worker to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill;
grant select on sendledger.dataset_epoch, sendledger.route, sendledger.lane, sendledger.tenant, sendledger.tenant_route,
  sendledger.rate_card, sendledger.message_template, sendledger.cancellation
  to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill, sendledger_ops, sendledger_cli, sendledger_import;
grant select, insert on sendledger.review_item to sendledger_claim, sendledger_submit, sendledger_reconcile, sendledger_backfill;

grant select on sendledger.outbound_message, sendledger.submission to sendledger_claim;
grant update (state, state_reason, due_at, claimed_at, updated_at, submission_id, submission_created_at, quoted_units, quoted_cost, quoted_currency)
  on sendledger.outbound_message to sendledger_claim;
grant insert on sendledger.submission to sendledger_claim;
-- Row locks need an update right; these are the columns that hurt least. Releasing on shutdown is claim's own business.
grant update (state, poll_at) on sendledger.submission to sendledger_claim;
grant usage on sequence sendledger.submission_id_seq to sendledger_claim, sendledger_import;

grant select on sendledger.outbound_message, sendledger.submission to sendledger_submit;
grant update (updated_at) on sendledger.route to sendledger_submit;
grant update (state, state_reason, updated_at, attempt_count, due_at, requested_at, submitted_at, receipt_by, provider_txn_id,
  provider_status_code, provider_cause, billable_units, cost, cost_currency, cost_source, submission_id, submission_created_at, reconciled_at)
  on sendledger.outbound_message to sendledger_submit;
grant update (state, marked_by, requested_at, lease_token, lease_until, responded_at, outcome_reason, outcome_proof, provider_txn_id,
  provider_status_code, http_status, raw_reply, poll_at) on sendledger.submission to sendledger_submit;

grant select, update on sendledger.outbound_message, sendledger.submission to sendledger_reconcile, sendledger_backfill;
grant select, insert on sendledger.provider_message, sendledger.delivery_receipt to sendledger_reconcile, sendledger_backfill;
grant update (message_id, message_created_at, applied_at, conflict, status, cause_class) on sendledger.delivery_receipt to sendledger_reconcile, sendledger_backfill;
grant select on sendledger.message_key to sendledger_reconcile, sendledger_backfill, sendledger_ops, sendledger_cli;
grant execute on function sendledger.ensure_months(integer) to sendledger_reconcile;
-- Their emptiness is measured; a query of the parent would not say in which partition a row lies without reading it.
grant select on sendledger.outbound_message_default, sendledger.submission_default, sendledger.delivery_receipt_default to sendledger_reconcile;

grant select on all tables in schema sendledger to sendledger_ops, sendledger_cli;
grant insert, update on sendledger.route, sendledger.lane, sendledger.tenant, sendledger.tenant_route, sendledger.rate_card,
  sendledger.message_template to sendledger_cli;
grant insert on sendledger.cancellation to sendledger_cli, sendledger_ops;
grant update (state, state_reason, updated_at, submission_id, submission_created_at) on sendledger.outbound_message to sendledger_cli, sendledger_ops;
grant update (state) on sendledger.submission to sendledger_cli, sendledger_ops;

grant select, insert on sendledger.outbound_message, sendledger.message_key, sendledger.submission to sendledger_import;
grant usage on sequence sendledger.message_id_seq to sendledger_import;
