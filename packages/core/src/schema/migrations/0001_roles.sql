-- Roles belong to the cluster, the migration lock to a database: two migrators in two databases may both be here. Whoever
-- comes second finds the role there, as duplicate_object or, inside the race, as a unique violation; both are harmless.
do $roles$
declare
  wanted text;
begin
  foreach wanted in array array[
    'sendledger_owner', 'sendledger_import',
    'sendledger_producer', 'sendledger_claim', 'sendledger_submit', 'sendledger_reconcile',
    'sendledger_backfill', 'sendledger_ops', 'sendledger_cli'
  ] loop
    begin
      if not exists (select from pg_roles where rolname = wanted) then
        if wanted in ('sendledger_owner') then
          execute format('create role %I nologin', wanted);
        else
          execute format('create role %I login', wanted);
        end if;
      end if;
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
  -- Everything is owned by a role that nobody logs in as. A migrator that is not a superuser must be able to act as it;
  -- since PostgreSQL 16 whoever makes a role may grant it, also to itself, and may not act as it before.
  if not (case when current_setting('server_version_num')::integer >= 160000
      then pg_has_role(current_user, 'sendledger_owner', 'set') and pg_has_role(current_user, 'sendledger_owner', 'usage')
      else pg_has_role(current_user, 'sendledger_owner', 'member') end) then
    begin
      execute format('grant sendledger_owner to %I', current_user);
    exception when unique_violation then
      null;
    end;
  end if;
end
$roles$;

create schema if not exists sendledger;

do $schema$
begin
  -- A schema can be given to a role only that may create schemas itself.
  execute format('grant create on database %I to sendledger_owner', current_database());
  alter schema sendledger owner to sendledger_owner;
exception when insufficient_privilege then
  -- A migrator that may create in this database and may not pass that on keeps the schema; what is in it is the owner's.
  grant usage, create on schema sendledger to sendledger_owner;
end
$schema$;

-- Needed by the exclusion constraint of rate_card; a trusted extension since PostgreSQL 13.
create extension if not exists btree_gist with schema sendledger;
