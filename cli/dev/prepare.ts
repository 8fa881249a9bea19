/**
 * Creates the files that are embedded in the binary but not in git: the database seed, the SBOM, the token
 * counts of tools and the text of `--help`. Runs after `bun install`; fast when nothing has changed.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createSbom } from './sbom.ts'
import { ensureSeed } from './seed.ts'
import { ensureWeb } from './web.ts'

const root = join(import.meta.dir, '../..')
mkdirSync(join(root, '.cache'), { recursive: true })
await Bun.write(join(root, '.cache/sbom.json'), `${JSON.stringify(createSbom(root), null, 2)}\n`)
await ensureSeed()
await ensureWeb()
// Imported last: it loads the features, which embed the files created above.
await (await import('./tool-tokens.ts')).writeToolTokens()
const { program } = await import('../program.ts')
await Bun.write(join(root, '.cache/help.txt'), program.configureHelp({ helpWidth: 80 }).helpInformation().trimEnd())
