import { expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import { BINARY, folder } from '../support/binary.ts'

const root = join(import.meta.dir, '../..')
/** As on a fresh machine: npm and the usual tools, no Bun. */
const plain = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder() }

test('a checkout is built and installed where only npm is there', async () => {
  const checkout = folder('tutti-checkout-')
  await $`git ls-files -z | xargs -0 cp --parents -t ${checkout}`.cwd(root).quiet()
  const prefix = folder()
  const installed = await $`sh ${join(checkout, 'install.sh')} --prefix ${prefix}`
    .env({ ...process.env, ...plain })
    .quiet()
    .nothrow()
  expect([installed.exitCode, installed.exitCode ? installed.stderr.toString() : '']).toEqual([0, ''])
  expect((await $`${join(prefix, 'bin/tutti')} --version`.quiet().text()).trim()).toMatch(/^\d+\.\d+\.\d+$/)
}, 120_000)

test('a prebuilt binary is checked against the sum beside it', async () => {
  const from = folder()
  const file = join(from, 'tutti-linux')
  await $`cp ${BINARY} ${file}`
  const install = (prefix: string) => $`sh ${join(root, 'install.sh')} --file ${file} --prefix ${prefix}`.env(plain).quiet().nothrow()
  const sum = (await $`sha256sum ${file}`.text()).split(' ')[0]
  writeFileSync(join(from, 'SHA256SUMS'), `${sum}  tutti-linux\n`)
  const good = folder()
  expect((await install(good)).exitCode).toBe(0)
  expect(existsSync(join(good, 'bin/tutti'))).toBe(true)
  for (const line of [`${'0'.repeat(64)}  tutti-linux\n`, `${sum}  something-else\n`]) {
    writeFileSync(join(from, 'SHA256SUMS'), line)
    const bad = folder()
    const refused = await install(bad)
    expect(refused.exitCode).not.toBe(0)
    expect(refused.stderr.toString()).toContain('REFUSED')
    expect(existsSync(join(bad, 'bin/tutti'))).toBe(false)
  }
}, 60_000)
