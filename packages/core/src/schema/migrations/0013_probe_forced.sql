-- A person sends the next probe without the provider's free call before it, which may itself be what is broken.

alter table sendledger.route add column probe_forced boolean not null default false;

grant update (probe_forced) on sendledger.route to sendledger_submit, sendledger_reconcile, sendledger_backfill;
