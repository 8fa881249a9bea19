// PGlite 0.5.14 does not export these paths, hence node_modules. The seed has its own file (seed.ts), because building
// it needs these.
import amcheck from '../../../node_modules/@electric-sql/pglite/dist/amcheck.tar.gz' with { type: 'file' }
import trgm from '../../../node_modules/@electric-sql/pglite/dist/pg_trgm.tar.gz' with { type: 'file' }
import data from '../../../node_modules/@electric-sql/pglite/dist/pglite.data' with { type: 'file' }
import wasm from '../../../node_modules/@electric-sql/pglite/dist/pglite.wasm' with { type: 'file' }
import { version } from '../../../node_modules/@electric-sql/pglite/package.json'
import vector from '../../../node_modules/@electric-sql/pglite-pgvector/dist/vector.tar.gz' with { type: 'file' }
import type { ExtensionFile } from './messages.ts'

export const pgliteVersion: string = version

export const extensionNames = ['vector', 'pg_trgm', 'amcheck'] as const

let compiled: Promise<WebAssembly.Module> | undefined

/** Compiled once per process: a restarted worker receives the same module by message. */
export function pgliteModule(): Promise<WebAssembly.Module> {
  compiled ??= Bun.file(wasm)
    .arrayBuffer()
    .then((bytes) => WebAssembly.compile(bytes))
  return compiled
}

export function pgliteData(): Promise<ArrayBuffer> {
  return Bun.file(data).arrayBuffer()
}

/** Unpacked here: PGlite opens them with fs.createReadStream, which does not find files inside a compiled binary. */
export async function extensionFiles(): Promise<ExtensionFile[]> {
  const paths = { vector, pg_trgm: trgm, amcheck }
  return Promise.all(
    extensionNames.map(async (name) => ({ name, tar: Bun.gunzipSync(await Bun.file(paths[name]).bytes()) })),
  )
}
