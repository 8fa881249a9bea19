import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isServing } from '../../src/machine.ts'
import { version } from '../../src/version.ts'
import { machine } from '../machine.ts'
import { Refusal } from '../report.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

interface Options extends CommonOptions {
  file: string
  sha256?: string
}

/** Puts another binary in the place of this one: checked, tried, with a backup before and a way back. */
export async function upgrade({ file, sha256, ...common }: Options): Promise<void> {
  const config = settingsOf(common)
  const from = resolve(file)
  if (!existsSync(from)) throw new Refusal(`There is no file ${from}.`, 4)
  const here = process.execPath
  if (basename(here).startsWith('bun')) throw new Refusal('This runs from source. Pull and build instead.')
  if (await isServing(config)) throw new Refusal('A server is running on this data folder. Stop it first.', 5)
  const expected = (sha256 ?? sumBeside(from))?.toLowerCase()
  if (!expected) throw new Refusal(`Say what it must be: --sha256 SUM, or a file ${from}.sha256 beside it.`)
  const found = new Bun.CryptoHasher('sha256').update(readFileSync(from)).digest('hex')
  if (found !== expected)
    throw new Refusal(`${from} is not what it should be: its SHA-256 is ${found}, not ${expected}. Nothing was changed.`)

  const fresh = `${here}.new`
  const old = `${here}.before-upgrade`
  copyFileSync(from, fresh)
  chmodSync(fresh, 0o755)
  const told = Bun.spawnSync([fresh, '--version'])
  if (told.exitCode !== 0) {
    rmSync(fresh)
    throw new Refusal(`${from} does not run on this machine. Nothing was changed.`)
  }
  const to = told.stdout.toString().trim()
  const saved = existsSync(join(config.DATA_DIR, 'db')) || config.DB_CONNECTION === 'pgsql'
  const backup = join(config.DATA_DIR, `before-${to}-${new Date().toISOString().replaceAll(':', '-')}.backup`)
  if (saved) await machine(config, 'backups.make', { path: backup })
  copyFileSync(here, old)
  renameSync(fresh, here)
  console.log(`${version} → ${to}. ${saved ? `All data is saved in ${backup}.` : ''}`)

  // It has to come up and bring the database to its own shape; else everything is put back.
  const tried = saved
    ? Bun.spawnSync([here, 'migrate', '--data-dir', config.DATA_DIR, ...(common.config ? ['--config', common.config] : [])])
    : { exitCode: 0, stderr: '' }
  if (tried.exitCode === 0) return console.log(`Start the server again. To go back: mv ${old} ${here} && tutti restore --replace ${backup}`)
  renameSync(old, here)
  const back = Bun.spawnSync([
    here,
    'restore',
    '--replace',
    '--data-dir',
    config.DATA_DIR,
    ...(common.config ? ['--config', common.config] : []),
    backup,
  ])
  throw new Refusal(
    `${to} did not come up (${tried.stderr.toString().trim()}). ${version} is back in its place${back.exitCode === 0 ? ' with its data' : `; bring its data back with: tutti restore --replace ${backup}`}.`,
    6,
  )
}

function sumBeside(path: string): string | undefined {
  for (const name of [`${path}.sha256`, join(dirname(path), 'SHA256SUMS')]) {
    if (!existsSync(name)) continue
    const line = readFileSync(name, 'utf8')
      .split('\n')
      .find((l) => name.endsWith('.sha256') || l.trim().endsWith(basename(path)))
    const sum = line?.trim().split(/\s+/)[0]
    if (sum && /^[0-9a-f]{64}$/i.test(sum)) return sum
  }
  return undefined
}
