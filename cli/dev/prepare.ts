/**
 * Makes the files that are embedded but not kept in git: the embedding model, the database seed, the SBOM, what tools
 * cost and the text of `--help`. Runs after `bun install`; quick when nothing changed.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureModel } from './model.ts'
import { sbom } from './sbom.ts'
import { ensureSeed } from './seed.ts'

const root = join(import.meta.dir, '../..')
mkdirSync(join(root, '.cache'), { recursive: true })
await Bun.write(join(root, '.cache/sbom.json'), `${JSON.stringify(sbom(root), null, 2)}\n`)
await ensureModel()
await ensureSeed()
// It reads the features, which embed what was made above.
await (await import('./tool-tokens.ts')).writeToolTokens()
const { program } = await import('../program.ts')
await Bun.write(join(root, '.cache/help.txt'), program.configureHelp({ helpWidth: 80 }).helpInformation().trimEnd())
