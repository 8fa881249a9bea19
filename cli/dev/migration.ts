/**
 * `bun run migration <name>`: compares the tables with the last snapshot, writes the next SQL file and rewrites
 * `migrations/index.ts`. `--check` writes nothing and fails when tables and migrations differ.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import type { PgTable } from 'drizzle-orm/pg-core'

const root = join(import.meta.dir, '../..')
const folder = join(root, 'migrations')
const [name] = process.argv.slice(2)

const tables: Record<string, PgTable> = {}
for (const file of new Bun.Glob('src/**/*table.ts').scanSync(root))
  Object.assign(tables, await import(join(root, file)))

const files = readdirSync(folder)
  .filter((f) => /^\d{4}_.*\.sql$/.test(f))
  .sort()
const snapshotPath = join(folder, 'meta', 'snapshot.json')
const empty = generateDrizzleJson({}, undefined, undefined, 'snake_case')
const before = (await Bun.file(snapshotPath).exists()) ? await Bun.file(snapshotPath).json() : empty
const after = generateDrizzleJson(tables, before.id, undefined, 'snake_case')
const statements = await generateMigration(before, after)

if (name === '--check') {
  if (statements.length > 0) {
    console.error(`Tables and migrations differ. Run: bun run migration <name>\n\n${statements.join('\n')}`)
    process.exit(1)
  }
  process.exit(0)
}
if (!name || !/^[a-z0-9_]+$/.test(name)) {
  console.error(
    'The name of a migration may contain only lower-case letters, digits and _: bun run migration add_bookmarks',
  )
  process.exit(2)
}
if (statements.length === 0) {
  console.log('Nothing has changed.')
  process.exit(0)
}
const id = `${String(files.length + 1).padStart(4, '0')}_${name}`
const mark = statements.every(onlyAdds) ? '-- expand\n' : ''
await Bun.write(join(folder, `${id}.sql`), `${mark}${statements.join('\n')}\n`)
await Bun.write(snapshotPath, `${JSON.stringify(after, null, 2)}\n`)
await writeIndex([...files.map((f) => f.replace('.sql', '')), id])
console.log(`migrations/${id}.sql`)

/**
 * Whether the version before can run on what a statement adds, because it neither has to write it nor is refused by it.
 * The author decides about statements that are written by hand: see `Migration` in `src/db/migrate.ts`.
 */
function onlyAdds(statement: string): boolean {
  const isNew = /^create (table|index|sequence|type) /i.test(statement)
  const isColumn = /^alter table \S+ add column /i.test(statement)
  const isRequired = / not null/i.test(statement) && !/ default /i.test(statement)
  const table = /^alter table (\S+) add constraint .* foreign key/i.exec(statement)?.[1]
  const isOfNewTable = statements.some((other) => other.toLowerCase().startsWith(`create table ${table} (`))
  return isNew || (isColumn && !isRequired) || isOfNewTable
}

async function writeIndex(ids: string[]): Promise<void> {
  const imports = ids.map((m, i) => `import m${i + 1} from './${m}.sql' with { type: 'text' }`)
  const items = ids.map((m, i) => `  { id: '${m}', sql: m${i + 1} },`)
  await Bun.write(
    join(folder, 'index.ts'),
    `// Written by \`bun run migration\`.\nimport type { Migration } from '../src/db/migrate.ts'\n` +
      `${imports.join('\n')}\n\nexport const migrations: Migration[] = [\n${items.join('\n')}\n]\n`,
  )
}
