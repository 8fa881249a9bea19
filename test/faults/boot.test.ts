import { expect, test } from 'bun:test'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { apiKeyFor, BINARY, bareEnv, folder, serve } from '../support/binary.ts'
import { rounds } from './load.ts'
import { outcomeOf, prepare } from './migrating.ts'

test(`first start killed at any moment: the next one works`, async () => {
  const count = rounds(5, 40)
  const dir = folder()
  const reference = await serve({ dir })
  const span = reference.readyAfter
  await reference.kill()
  for (let round = 0; round < count; round++) {
    const fresh = folder()
    const child = Bun.spawn([BINARY, 'serve', '--port', '0', '--data-dir', fresh], {
      stdout: 'ignore',
      stderr: 'ignore',
      env: { ...bareEnv, EMBEDDINGS: 'off' },
    })
    // Evenly spread over the whole start; the sleep is the fault's moment, not synchronisation.
    await Bun.sleep((span * (round + 0.5)) / count)
    child.kill('SIGKILL')
    await child.exited
    const server = await serve({ dir: fresh })
    await apiKeyFor(server)
    expect(await server.stop()).toBe(0)
  }
}, 600_000)

test('a migration killed at any moment is applied completely or not at all', async () => {
  const count = rounds(4, 40)
  const run = (dir: string) =>
    Bun.spawn([process.execPath, join(import.meta.dir, 'migrating.ts'), dir], {
      env: { ...process.env, ...bareEnv },
      stdout: 'pipe',
      stderr: 'inherit',
    })
  const prepared = folder()
  await prepare(prepared)
  const migrating = async (): Promise<{ dir: string; child: ReturnType<typeof run> }> => {
    const dir = folder()
    cpSync(prepared, dir, { recursive: true })
    const child = run(dir)
    await child.stdout.getReader().read() // "migrating": the database is open
    return { dir, child }
  }
  const whole = await migrating()
  const from = performance.now()
  expect(await whole.child.exited).toBe(0)
  const span = performance.now() - from
  expect(await outcomeOf(whole.dir)).toBe('all')
  for (let round = 0; round < count; round++) {
    const { dir, child } = await migrating()
    await Bun.sleep((span * (round + 0.5)) / count)
    child.kill('SIGKILL')
    await child.exited
    expect(['none', 'all']).toContain(await outcomeOf(dir))
  }
}, 600_000)
