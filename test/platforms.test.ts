import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** An entry of bun.lock: name and version, origin, and platform. */
type Locked = [string, string?, { os?: string; cpu?: string; libc?: string }?, string?]

test('every Linux package in bun.lock exists for x64 and arm64 in the same version', async () => {
  const { packages } = Bun.JSONC.parse(await Bun.file(join(import.meta.dir, '../bun.lock')).text()) as {
    packages: Record<string, Locked>
  }
  const pinned = Object.entries(packages).flatMap(([path, [spec, , target]]) =>
    target?.os === 'linux' && (target.cpu === 'x64' || target.cpu === 'arm64') ? [{ path, spec, cpu: target.cpu }] : [],
  )
  expect(pinned.length).toBeGreaterThan(4)
  const specs = new Map(pinned.map(({ path, spec }) => [path, spec]))
  const without = pinned.filter(({ path, spec, cpu }) => {
    const other = (text: string) => text.replaceAll(cpu, cpu === 'x64' ? 'arm64' : 'x64')
    return specs.get(other(path)) !== other(spec)
  })
  expect(without).toEqual([])
})
