-- Each app logs in as a role of its own, made by the migration without a password. Run by psql with app_password set.
\set ON_ERROR_STOP on
alter role sendledger_claim password :'app_password';
alter role sendledger_submit password :'app_password';
alter role sendledger_reconcile password :'app_password';
alter role sendledger_backfill password :'app_password';
alter role sendledger_ops password :'app_password';
alter role sendledger_producer password :'app_password';
