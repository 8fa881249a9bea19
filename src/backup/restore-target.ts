import { migrations } from '../../migrations/index.ts'
import type { Driver, Queryable } from '../db/driver.ts'
import { appliedIds, migrationScript, TAKE_MIGRATION_LOCK } from '../db/migrate.ts'
import { isRestoring, PROGRESS } from '../db/restore-progress.ts'
import { listPartitions } from '../db/table-partitions.ts'
import { AppError } from '../errors.ts'
import { listTables, ourTables, quoteIdentifier } from './dump.ts'
import type { BackupHeader } from './file.ts'

// The database that a backup is loaded into: empty tables before, foreign keys and sequences after.

export const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`
const names = `array[${ourTables.map(quoteLiteral).join(', ')}]`

/** Creates the tables as they were at the source, unless an earlier run did. Returns the tables already loaded. */
export async function prepareTarget(
  driver: Driver,
  header: BackupHeader,
  { identity, replace }: { identity: string; replace?: boolean },
): Promise<Map<string, string>> {
  const unknown = header.migrations.filter((id) => !migrations.some((m) => m.id === id))
  if (unknown.length > 0)
    throw new AppError(
      'conflict',
      `This was made by a newer Tutti, ${header.tutti} (it has ${unknown.join(', ')}). Use that version.`,
    )
  if (await isRestoring(driver)) {
    const { rows } = await driver.query(`select kind, name, definition from ${PROGRESS} where kind <> 'key'`)
    const isSame = rows.some(([kind, name]) => kind === 'source' && name === identity)
    if (isSame && (await appliedIds(driver)).join() === header.migrations.join())
      return new Map(rows.flatMap(([kind, name, sum]) => (kind === 'table' ? [[String(name), String(sum)]] : [])))
    if (!replace)
      throw new AppError(
        'conflict',
        'Another load into this database is incomplete. Continue that one, or use --replace to start over.',
      )
    await makeTables(driver, header, identity)
    return new Map()
  }
  const inUse = await hasData(driver)
  if (inUse && !replace)
    throw new AppError(
      'conflict',
      'This database already holds data. Choose an empty one, or use --replace, which saves the present data to a file first.',
    )
  await makeTables(driver, header, identity, { mayKeep: !inUse })
  return new Map()
}

/** Throws if the database belongs to another program. */
export async function hasData(driver: Driver): Promise<boolean> {
  const { rows } = await driver.query(
    `select relname::text from pg_class where relnamespace = current_schema()::regnamespace
        and relkind in ('r', 'p', 'v', 'm')
      and relname = any($1::text[]) order by 1`,
    [`{${[...ourTables, 'migrations'].join(',')}}`],
  )
  if (rows.length === 0) return false
  const applied = await appliedIds(driver).catch((): string[] => [])
  if (!applied.includes(migrations[0]?.id as string))
    throw new AppError(
      'conflict',
      `This database belongs to another program (it has ${rows.flat().join(', ')}). Use one that only Tutti uses.`,
    )
  return (await driver.query('select 1 from users limit 1')).rows.length > 0
}

/**
 * In one transaction, replaces what was there by empty tables without foreign keys and with triggers disabled: rows are
 * loaded as they were saved, including what triggers wrote. The keys are restored at the end, which checks all rows.
 * From here on no server starts on the database until all data is loaded. With `mayKeep`, tables of the source's
 * version stay: a new data folder comes with them, and creating them again takes seconds.
 */
async function makeTables(
  driver: Driver,
  header: BackupHeader,
  identity: string,
  { mayKeep = false } = {},
): Promise<void> {
  const applied = (await hasTable(driver, 'migrations')) ? await appliedIds(driver) : []
  const old = (await listTables(driver, applied)).map(({ table }) => quoteIdentifier(table))
  const replaceTables = `drop table if exists ${[...old, 'migrations'].join(', ')} cascade;
    ${migrationScript(migrations.filter((m) => header.migrations.includes(m.id)))}`
  const isSame = mayKeep && applied.join() === header.migrations.join()
  // A part that was dropped leaves numbers that no part takes.
  const keep = isSame && !(await listPartitions(driver, 'events'))
  try {
    await driver.exec(`begin; ${TAKE_MIGRATION_LOCK}
      drop table if exists ${PROGRESS};
      ${keep ? '' : replaceTables}
      create table ${PROGRESS} (kind text not null, name text not null, definition text);
      insert into ${PROGRESS} values ('source', ${quoteLiteral(identity)});
      do $$ declare item record; begin
        for item in select conrelid::regclass as here, conname as name, pg_get_constraintdef(oid) as definition
        from pg_constraint
          where contype = 'f' and connamespace = current_schema()::regnamespace
            and conrelid::regclass::text = any(${names})
        loop
          insert into ${PROGRESS} values ('key', item.name,
            format('alter table %s add constraint %I %s', item.here, item.name, item.definition));
          execute format('alter table %s drop constraint %I', item.here, item.name);
        end loop;
        for item in select unnest(${names}) as name loop
          if to_regclass(quote_ident(item.name)) is not null then
            execute format('alter table %I disable trigger user', item.name);
            execute format('delete from %I', item.name);
          end if;
        end loop;
      end $$;
      commit;`)
  } catch (error) {
    await driver.exec('rollback').catch(() => undefined)
    throw new AppError(
      'conflict',
      `The tables cannot be created here, so nothing was changed: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

async function hasTable(on: Queryable, name: string): Promise<boolean> {
  return (await on.query('select to_regclass($1)::text', [name])).rows[0]?.[0] != null
}

/**
 * Returns the types as named in this database: an extension may be in another schema than at the source. Only our
 * tables count: a file must not write into another program's tables, nor into the progress table, which holds
 * statements to run.
 */
export async function columnTypes(on: Queryable): Promise<Map<string, Map<string, string>>> {
  const { rows } = await on.query(
    `select c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod) from pg_class c
      join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
      and not a.attisdropped
      and c.relname = any($1::text[])`,
    [`{${ourTables.join(',')}}`],
  )
  const found = new Map<string, Map<string, string>>()
  for (const [table, column, type] of rows as [string, string, string][])
    found.set(table, (found.get(table) ?? new Map<string, string>()).set(column, type))
  return found
}

/**
 * Restores sequences, foreign keys and triggers, and lets servers start again. Only our tables are analyzed: the
 * catalogue of Postgres hardly changed, and analyzing it took a third of the time of a small restore.
 */
export async function finishTarget(driver: Driver): Promise<void> {
  const { rows: keys } = await driver.query(`select definition from ${PROGRESS} where kind = 'key' order by name`)
  const { rows: sequences } = await driver.query(
    `select quote_ident(c.relname), quote_ident(a.attname), pg_get_serial_sequence(quote_ident(c.relname), a.attname)
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and c.relname = any($1::text[]) and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null`,
    [`{${ourTables.join(',')}}`],
  )
  const { rows: tables } = await driver.query(
    `select quote_ident(relname) from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relname = any($1::text[])`,
    [`{${ourTables.join(',')}}`],
  )
  const restart = sequences.map(
    ([table, column, name]) =>
      `select setval(${quoteLiteral(String(name))}, coalesce(max(${column}), 1), max(${column}) is not null) from ${table};`,
  )
  await driver.exec(`begin;
    ${restart.join('\n')}
    ${keys.map(([definition]) => `${definition};`).join('\n')}
    do $$ declare item record; begin
      for item in select distinct tgrelid::regclass as here from pg_trigger join pg_class c on c.oid = tgrelid
        where not tgisinternal and c.relnamespace = current_schema()::regnamespace and c.relname = any(${names})
      loop execute format('alter table %s enable trigger user', item.here); end loop;
    end $$;
    drop table ${PROGRESS};
    commit;
    analyze ${tables.flat().join(', ')};`)
}
