import { getTableName } from 'drizzle-orm'
import { records } from '../../src/all-features.ts'
import type { Driver } from '../../src/db/driver.ts'

/** The table of each entity, as cases of SQL. */
const tables = records.synced.map(({ entity, table }) => `when '${entity}' then '${getTableName(table)}'`)

/**
 * In tests, and only there, the database itself checks what sync relies on: whoever changes a synced record leaves an
 * event of its container that names the record, and another in the container that the record has left. The check runs
 * at the commit, for every row, whatever changed it: an action, a cascade, a bulk update. A transaction without any
 * event is a test that arranges something, and is left alone; so is upkeep, which removes what was deleted long ago. A
 * new link must be named in the containers of both of its ends; it goes with either of them. The first event of the
 * transaction is looked for once, among the last 2000, and not for each row, which took most of the time of tests that
 * arrange thousands of rows.
 */
const check = `
create or replace function test_sync_table(entity text) returns text language sql immutable as $$
  select case entity ${tables.join(' ')} end $$;

create or replace function test_sync_container(entity text, r jsonb) returns text language sql stable as $$
  select case when entity in ('comment', 'dependency')
    then (select 'project:' || project_id from tasks where id = (r ->> 'task_id')::uuid)
    when entity = 'discussion' then (select coalesce('project:' || project_id, 'organization:' || organization_id)
      from decisions where id = (r ->> 'decision_id')::uuid)
    when entity = 'link' then null
    else coalesce('project:' || (case when entity = 'project' then r ->> 'id' else r ->> 'project_id' end),
      'organization:' || (r ->> 'organization_id'), 'user:' || (r ->> 'created_by_id')) end $$;

create or replace function test_sync_of(e events) returns text language sql immutable as $$
  select coalesce('project:' || e.project_id, 'organization:' || e.organization_id, 'user:' || e.user_id) $$;

create or replace function test_sync_there(container text) returns boolean language sql stable as $$
  select case split_part(container, ':', 1)
    when 'project' then exists (select 1 from projects p join organizations o on o.id = p.organization_id
      where p.id = split_part(container, ':', 2)::uuid and o.deleted_at is null)
    when 'organization' then exists (select 1 from organizations
      where id = split_part(container, ':', 2)::uuid and deleted_at is null)
    when 'user' then exists (select 1 from users where id = split_part(container, ':', 2)::uuid)
    else false end $$;

create or replace function test_sync_ends(r jsonb) returns text[] language plpgsql stable as $$
declare
  ends text[];
  side text;
  other jsonb;
begin
  foreach side in array array['from', 'to'] loop
    continue when test_sync_table(r ->> (side || '_type')) is null;
    execute format('select to_jsonb(x) from %I x where id = $1', test_sync_table(r ->> (side || '_type')))
      into other using (r ->> (side || '_id'))::uuid;
    ends := ends || test_sync_container(r ->> (side || '_type'), other);
  end loop;
  return ends;
end $$;

create or replace function test_sync_first() returns bigint language plpgsql as $$
begin
  if coalesce(current_setting('test.sync_first', true), '') = '' then
    perform set_config('test.sync_first', coalesce((select min(e.seq) from events e
      where e.seq > (select max(seq) - 2000 from events) and e.xmin = pg_current_xact_id()::xid), 0)::text, true);
  end if;
  return nullif(current_setting('test.sync_first'), '0')::bigint;
end $$;

create or replace function test_sync_any() returns boolean language plpgsql as $$
begin
  if coalesce(current_setting('test.sync_first', true), '') = '' and (select e.xmin = pg_current_xact_id()::xid
    from events e order by e.seq desc limit 1) then return true; end if;
  return test_sync_first() is not null;
end $$;

create or replace function test_sync_named(entity text, record uuid, container text, r jsonb) returns boolean
language plpgsql as $$
declare
  subject uuid;
  first bigint;
begin
  foreach subject in array array_remove(array[record, (r ->> 'task_id')::uuid, (r ->> 'decision_id')::uuid,
    (r ->> 'from_id')::uuid, (r ->> 'to_id')::uuid], null) loop
    if exists (select 1 from events e where e.subject_id = subject and e.xmin = pg_current_xact_id()::xid
      and (subject = record or record::text in (e.data ->> 'linkId', e.data ->> 'commentId'))
      and container = test_sync_of(e)) then return true; end if;
  end loop;
  first := test_sync_first();
  return exists (select 1 from events e where e.seq >= first
    and e.xmin = pg_current_xact_id()::xid and e.data -> 'changed' -> entity ? record::text
    and container = test_sync_of(e));
end $$;

create or replace function test_sync_check() returns trigger language plpgsql as $$
declare
  entity text := tg_argv[0];
  was jsonb;
  becomes jsonb;
  r jsonb;
  places text[];
  place text;
  first bigint;
begin
  if not test_sync_any() then return null; end if;
  was := case when tg_op = 'INSERT' then null else to_jsonb(old) end;
  becomes := case when tg_op = 'DELETE' then null else to_jsonb(new) end;
  r := coalesce(becomes, was);
  if was ->> 'deleted_at' is not null and (becomes is null or becomes ->> 'deleted_at' is not null) then
    return null;
  end if;
  if tg_op = 'UPDATE' and not exists (select 1 from unnest(tg_argv[1:]) column_name
    where was -> column_name is distinct from becomes -> column_name) then return null; end if;
  places := case entity when 'link' then test_sync_ends(becomes)
    else array[test_sync_container(entity, becomes), test_sync_container(entity, was)] end;
  foreach place in array coalesce(places, '{}') loop
    continue when place is null;
    if test_sync_named(entity, (r ->> 'id')::uuid, place, r) then continue; end if;
    first := test_sync_first();
    if exists (select 1 from events e where e.seq >= first
        and e.xmin = pg_current_xact_id()::xid and e.action not like 'upkeep.%')
      and test_sync_there(place) then
      raise exception 'sync: % % of % was changed (%), but no event of that container names it',
        entity, r ->> 'id', place, tg_op;
    end if;
  end loop;
  return null;
end $$;`

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The author of a removed account becomes null without a new version; copies keep the old one. */
const unchecked = new Set(['created_by_id', 'updated_at'])

const triggers = records.synced.map(({ entity, table, columns }) => {
  const names = [...Object.keys(columns).map(snake), 'deleted_at'].filter((name) => !unchecked.has(name))
  return `create constraint trigger test_sync after insert or update or delete on ${getTableName(table)}
    deferrable initially deferred for each row
    execute function test_sync_check(${[entity, ...names].map((one) => `'${one}'`).join(', ')});`
})

/** Installs the check in a test's database. */
export async function checkNames(driver: Driver): Promise<void> {
  for (const statement of [...check.split(/(?<=\$\$;)\n/), ...triggers])
    if (statement.trim()) await driver.query(statement)
}
