/**
 * Creates the initialised database that is embedded in the binary, so that a first start unpacks 1 MB instead of
 * running initdb for seconds.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pglite from '../../node_modules/@electric-sql/pglite/package.json'
import pgvector from '../../node_modules/@electric-sql/pglite-pgvector/package.json'
import type { Driver } from '../../src/db/driver.ts'

const root = join(import.meta.dir, '../..')
const seedPath = join(root, '.cache/seed.tar.zst')
const hashPath = join(root, '.cache/seed.hash')

/** Small WAL segments are faster to create, make the seed smaller, and allow a start on a nearly full disk. */
const initdbParams = ['--wal-segsize=4']

/** Fast when nothing has changed. Never imports the seed itself, which may not exist yet. */
export async function ensureSeed(): Promise<void> {
  const hash = inputHash()
  if ((await readTextIfExists(hashPath)) === hash && (await Bun.file(seedPath).exists())) return
  mkdirSync(join(root, '.cache'), { recursive: true })
  await buildSeed(seedPath, migrateSeed)
  await Bun.write(hashPath, hash)
}

/**
 * Builds the seed. `prepare` runs on a database with the extensions; every new installation contains what it creates.
 */
async function buildSeed(out: string, prepare: (driver: Driver) => Promise<void>): Promise<void> {
  const { beginOpeningEmbedded } = await import('../../src/db/embedded/open.ts')
  const { extensionNames } = await import('../../src/db/embedded/assets.ts')
  const dir = mkdtempSync(join(tmpdir(), 'tutti-seed-'))
  try {
    const driver = await beginOpeningEmbedded({ dir, minFreeBytes: 0, statementTimeout: 0 }, initialise).ready
    try {
      await driver.exec(extensionNames.map((name) => `create extension if not exists ${name};`).join('\n'))
      await prepare(driver)
      await driver.exec('vacuum (freeze, analyze)')
      await driver.exec('checkpoint')
    } finally {
      await driver.close()
    }
    const draft = `${out}.${process.pid}.tmp`
    await Bun.write(draft, await Bun.zstdCompress(packTar(join(dir, 'db')), { level: 19 }))
    renameSync(draft, out)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function initialise(target: string): Promise<void> {
  const { PGlite } = await import('@electric-sql/pglite')
  const pg = await PGlite.create({ dataDir: target, initDbStartParams: initdbParams })
  // Not used, but two thirds of all files. They are never vacuumed, so old transaction ids would make Postgres refuse
  // writes.
  for (const name of ['template0', 'template1']) {
    await pg.exec(`alter database ${name} is_template false`)
    await pg.exec(`drop database ${name}`)
  }
  await pg.close()
}

async function migrateSeed(driver: Driver): Promise<void> {
  const { applyMigrations } = await import('../../src/db/migrate.ts')
  const { migrations } = await import('../../migrations/index.ts')
  await applyMigrations(driver, migrations)
}

function inputHash(): string {
  const migrations = join(root, 'migrations')
  const files = [
    import.meta.path,
    ...readdirSync(migrations, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.sql'))
      .map((name) => join(migrations, name)),
  ]
  const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([pglite.version, pgvector.version, initdbParams]))
  for (const file of files.sort()) hash.update(readFileSync(file))
  return hash.digest('hex')
}

export const readTextIfExists = (path: string): Promise<string | undefined> =>
  Bun.file(path)
    .text()
    .catch(() => undefined)

/**
 * Packs a folder in ustar format, with identical bytes for identical trees. Bun.Archive leaves out empty folders,
 * without which Postgres does not start.
 */
function packTar(root: string): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = []
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    const isDirectory = statSync(join(root, path)).isDirectory()
    const body = isDirectory ? new Uint8Array() : readFileSync(join(root, path))
    const padding = new Uint8Array((512 - (body.length % 512)) % 512)
    parts.push(tarHeader(isDirectory ? `${path}/` : path, body.length, isDirectory), body, padding)
  }
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(1024)]))
}

function tarHeader(path: string, size: number, isDirectory: boolean): Uint8Array {
  if (path.length > 99) throw new Error(`path too long for a tar header: ${path}`)
  const block = Buffer.alloc(512)
  const octal = (value: number, at: number, width: number) =>
    block.write(value.toString(8).padStart(width - 1, '0'), at)
  block.write(path, 0)
  octal(isDirectory ? 0o700 : 0o600, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  block.write(isDirectory ? '5' : '0', 156)
  block.write('ustar\x0000', 257)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

if (import.meta.main) await ensureSeed()
