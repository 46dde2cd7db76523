-- Months are made ahead; the default partition stays empty and is alarmed on: a row in it blocks attaching its month.

create function sendledger.create_month(p_month date) returns void
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $month$
declare
  first_day date := date_trunc('month', p_month)::date;
  next_month date := (first_day + interval '1 month')::date;
  suffix text := to_char(first_day, 'YYYY_MM');
  parent text;
  leaf text;
  lower_bound text;
  upper_bound text;
begin
  -- Two upkeepers at once: the second waits, then finds the month there.
  perform pg_advisory_xact_lock(hashtext('sendledger.create_month'));
  foreach parent in array array['outbound_message', 'submission', 'delivery_receipt'] loop
    leaf := parent || '_' || suffix;
    continue when to_regclass('sendledger.' || leaf) is not null;
    if parent = 'delivery_receipt' then
      lower_bound := first_day::text; upper_bound := next_month::text;
    else
      lower_bound := first_day::text || ' 00:00:00+00'; upper_bound := next_month::text || ' 00:00:00+00';
    end if;
    -- Made apart and attached: CREATE TABLE … PARTITION OF would take an exclusive lock on the parent.
    execute format('create table sendledger.%I (like sendledger.%I including defaults including constraints including storage)', leaf, parent);
    execute format(
      'alter table sendledger.%I set (fillfactor = %s, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)',
      leaf, case parent when 'submission' then 70 else 100 end);
    execute format('alter table sendledger.%I attach partition sendledger.%I for values from (%L) to (%L)', parent, leaf, lower_bound, upper_bound);
    perform sendledger.guard_partition(parent, leaf);
  end loop;
end
$month$;

-- A statement trigger of the parent does not fire for an update aimed at a leaf: each leaf has its own.
create function sendledger.guard_partition(p_parent text, p_leaf text) returns void
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $leaf$
begin
  if p_parent = 'outbound_message' then
    execute format(
      'create trigger guard_submission after update on sendledger.%I
         referencing old table as old_rows new table as new_rows
         for each statement execute function sendledger.check_submission_moves()', p_leaf);
  end if;
  execute format(
    'create trigger guard_truncate before truncate on sendledger.%I
       for each statement execute function sendledger.refuse(%L)', p_leaf, p_parent || ' is not truncated; a partition is detached');
end
$leaf$;

create function sendledger.ensure_months(p_ahead integer) returns void
language plpgsql security definer set search_path = pg_catalog, sendledger, pg_temp as $months$
begin
  for i in 0..p_ahead loop
    perform sendledger.create_month(((now() at time zone 'UTC')::date + make_interval(months => i))::date);
  end loop;
end
$months$;

create table sendledger.outbound_message_default partition of sendledger.outbound_message default;
create table sendledger.submission_default partition of sendledger.submission default;
create table sendledger.delivery_receipt_default partition of sendledger.delivery_receipt default;
create trigger guard_submission after update on sendledger.outbound_message
  referencing old table as old_rows new table as new_rows
  for each statement execute function sendledger.check_submission_moves();
select sendledger.guard_partition(parent, parent || '_default')
from unnest(array['outbound_message', 'submission', 'delivery_receipt']) as parent;

do $keys$
begin
  for i in 0..7 loop
    execute format('create table sendledger.message_key_%s partition of sendledger.message_key for values with (modulus 8, remainder %s)', i, i);
    perform sendledger.guard_partition('message_key', 'message_key_' || i);
  end loop;
end
$keys$;

-- Only months to come are made here; what the calendar says at migration time is not schema, so the dump leaves months out.
select sendledger.ensure_months(3);
