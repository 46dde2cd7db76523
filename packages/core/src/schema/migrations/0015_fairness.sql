-- Tenants of a lane take turns, so that one's backlog delays only itself.
create index outbound_message_fair on sendledger.outbound_message (route_id, message_class, tenant_id, due_at, id)
  where state in ('pending', 'retry');

-- How many rows of a tenant are taken where one of another's is.
alter table sendledger.tenant add column weight integer not null default 1 check (weight >= 1 and weight <= 1000);
