import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { $ } from 'bun'
import { migrations } from '../../migrations/index.ts'
import type { Driver } from '../../src/db/driver.ts'
import { applyMigrations, type Migration } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { version } from '../../src/version.ts'
import { freshDatabase } from '../support/postgres.ts'

const root = resolve(import.meta.dir, '../..')

/** Tests that create, change, delete, export and import records of every kind. */
const TESTS = ['records', 'restore', 'tasks', 'transfer'].map((name) => `./test/features/${name}.test.ts`)

/** Unpacks the last release and returns its folder, or undefined before the first one. */
async function lastRelease(): Promise<string | undefined> {
  const tags = await $`git tag --list 'v*' --merged HEAD --no-contains HEAD --sort=-v:refname`
    .cwd(root)
    .nothrow()
    .quiet()
  const [tag] = tags.text().split('\n')
  if (!tag) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'tutti-release-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  await $`git archive ${tag} | tar x -C ${folder}`.cwd(root).quiet()
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Does what an expand may do: adds a column to every table, an index for it, and a table that refers to others. */
async function nextMigration(driver: Driver): Promise<Migration> {
  const { rows } = await driver.query(
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
  )
  const tables = rows.flat().filter((table) => table !== 'migrations')
  const additions = tables.map((table) => `alter table "${table}" add column next_version text;`)
  const more = 'create table next_things (id uuid primary key, user_id uuid references users on delete cascade);'
  const index = 'create index next_notes on notes (next_version);'
  return { id: '9999_next', sql: ['-- expand', ...additions, more, index].join('\n') }
}

const [major, minor = 0] = version.split('.').map(Number)

test.skipIf(process.env.TEST_DB !== 'postgres')(
  'the previous release passes its tests on this schema; before the first release, this version on an extended schema',
  async () => {
    const release = await lastRelease()
    const template = await freshDatabase()
    const driver = await openPostgres({ url: template.url, statementTimeout: 60_000 })
    await applyMigrations(driver, migrations)
    if (!release)
      await applyMigrations(driver, [...migrations, await nextMigration(driver)], {
        version: `${major}.${minor + 1}.0`,
      })
    await driver.close()
    const env = { ...process.env, TEST_TEMPLATE: new URL(template.url).pathname.slice(1) }
    const run = Bun.spawn([process.execPath, 'test', '--timeout', '300000', ...TESTS], {
      cwd: release ?? root,
      env,
      stdout: 'ignore',
      stderr: 'pipe',
    })
    const said = await new Response(run.stderr).text()
    const failed = said.split('\n').filter((line) => line.startsWith('(fail)'))
    await template.drop()
    expect({ code: await run.exited, failed, said: failed.length > 0 ? said : '' }).toEqual({
      code: 0,
      failed: [],
      said: '',
    })
    expect(said).toMatch(/^ *[1-9]\d* pass$/m)
  },
  600_000,
)
