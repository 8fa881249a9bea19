import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { $ } from 'bun'
import { folder } from './binary.ts'

const root = resolve(import.meta.dir, '../..')
export const NEXT = '99.1.0'
export const NEXT_MIGRATION = '9999_next'

/** The next version: built from a copy of this source tree, with another number and one more migration. */
export async function buildNext(): Promise<string> {
  const copy = folder('tutti-next-')
  // Leaves out what the build does not need: .cache/agents and .cache/peers alone are 85,000 files.
  const without = ['node_modules', '.git', '.tools', 'dist', 'test', '.cache/agents', '.cache/peers', '.cache/web']
  await $`tar c ${without.map((name) => `--exclude=./${name}`)} . | tar x -C ${copy}`.cwd(root).quiet()
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const change = (name: string, from: RegExp, to: string) => {
    const path = join(copy, name)
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
  }
  change('package.json', /"version": "[^"]+"/, `"version": "${NEXT}"`)
  change(
    'migrations/index.ts',
    /\]\s*$/,
    `  { id: '${NEXT_MIGRATION}', sql: 'create table next_things (id text primary key);' },\n]\n`,
  )
  await $`${process.execPath} cli/dev/build.ts`.cwd(copy).quiet()
  return join(copy, 'dist', 'tutti')
}

/** What pretends to be a binary: a version, and what happens when it is to serve. */
export function pretend(serve: string, version = NEXT): string {
  const path = join(folder('tutti-pretend-'), 'tutti')
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; exit; fi\n${serve}\n`)
  chmodSync(path, 0o755)
  return path
}

export const sha256 = (path: string): string => new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')
