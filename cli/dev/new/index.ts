/**
 * `bun run new <kind>`: writes what a new kind of record needs, for example `bun run new bookmark`. The new files are
 * copies of `templates/`, whose tree is that of the repository; `edits.ts` has the lines for existing files.
 */
import { join } from 'node:path'
import { pluralOf } from '../../../src/records/names.ts'
import { filesOfKind, problemWithName, root } from './generate.ts'

async function run(...command: string[]): Promise<void> {
  const code = await Bun.spawn(command, { cwd: root, stdout: 'ignore', stderr: 'inherit' }).exited
  if (code !== 0) throw new Error(`${command.join(' ')} failed.`)
}

const [kind = ''] = process.argv.slice(2)
const problem = kind === '' ? 'Name the kind in the singular: bun run new bookmark' : await problemWithName(kind)
if (problem !== undefined) {
  console.error(`${problem}\nNothing was changed.`)
  process.exit(1)
}
const files = await filesOfKind(kind)
for (const [file, text] of files) await Bun.write(join(root, file), text)
const code = [...files.keys()].filter((file) => /\.tsx?$/.test(file))
await run('bun', 'node_modules/.bin/biome', 'check', '--write', ...code)
await run('bun', 'cli/dev/migration.ts', pluralOf(kind))
await run('bun', 'cli/dev/routes.ts')
console.log(`The kind ${kind} is written, with the fields title and description. \`git status\` lists its files.

CONTRIBUTING.md explains how to add your own fields and rules. Afterwards:

  bun run snapshots   # writes the new routes and tools into the snapshots of the tests
  bun run check`)
