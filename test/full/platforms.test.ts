import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { peersFor } from '../agents/peers/install.ts'
import { dependenciesFor, run } from './install.ts'

/** What the registry that bun is set up with says of this version; '' where it does not have it. */
async function published(spec: string, field: string, attempts = 3): Promise<string> {
  const { code, out } = await run([process.execPath, 'info', spec, field], { env: { HOME: process.env.HOME } })
  if (code === 0) return out.trim()
  // Retries, because the registry may be unreachable for a moment.
  return attempts > 1 ? published(spec, field, attempts - 1) : ''
}
const { packageManager } = (await Bun.file(join(import.meta.dir, '../../package.json')).json()) as {
  packageManager: string
}
const bunVersion = packageManager.replace('bun@', '')

for (const { arch, bun } of [
  { arch: 'x64', bun: '@oven/bun-linux-x64' },
  { arch: 'arm64', bun: '@oven/bun-linux-aarch64' },
])
  test(`every program that is pinned is published for linux-${arch}`, async () => {
    const wanted = { ...dependenciesFor(arch), ...peersFor(arch), [bun]: bunVersion }
    // Its program comes in an optional package, under another name.
    const codex = `@openai/codex@${wanted['@openai/codex']}`
    expect(await published(codex, 'optionalDependencies')).toContain(`"npm:${codex}-linux-${arch}"`)
    const found = await Promise.all(
      Object.entries(wanted).map(async ([name, version]) => [name, await published(`${name}@${version}`, 'version')]),
    )
    expect(Object.fromEntries(found)).toEqual(wanted)
    expect(await published(`${codex}-linux-${arch}`, 'version')).toBe(`${wanted['@openai/codex']}-linux-${arch}`)
  }, 300_000)
