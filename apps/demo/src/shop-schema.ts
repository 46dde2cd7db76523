/** The example application's own tables, in a schema of its own beside the ledger's. */
export const SHOP_SCHEMA = `
  create schema if not exists shop;
  create table if not exists shop.orders (
    id text primary key,
    phone text not null,
    total numeric(10, 2) not null,
    -- The customer pays on delivery, so a code was asked for.
    code_asked boolean not null,
    reminders integer not null,
    placed_at timestamptz not null default now()
  );
  create table if not exists shop.announced (
    announcement_id text not null,
    phone text not null,
    primary key (announcement_id, phone)
  );
  -- Lines of the user's own file, as they were accepted.
  create table if not exists shop.input_lines (
    line integer not null,
    event_type text not null,
    event_id text not null,
    phone text not null
  );
  grant usage on schema shop to sendledger_producer, sendledger_ops;
  grant insert on all tables in schema shop to sendledger_producer;
  grant select on all tables in schema shop to sendledger_ops;
`;
