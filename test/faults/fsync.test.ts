import { expect, test } from 'bun:test'
import { chmodSync, cpSync } from 'node:fs'
import { apiKeyFor, folder, serve } from '../support/binary.ts'
import { missing, writeLoad } from './load.ts'

/** strace makes the Nth fsync fail. Whatever N is: no write is answered that is not there afterwards, and the server stops instead of going on. */
test('a failed fsync stops the server, and no confirmed write is lost', async () => {
  const all = Array.from({ length: 50 }, (_, i) => 1 + i * 7)
  const chosen = process.env.SOAK ? all : [all[1], all[12], all[30]]
  const prepared = await serve()
  const key = await apiKeyFor(prepared)
  expect(await prepared.stop()).toBe(0)
  for (const n of chosen) {
    const dir = folder()
    cpSync(prepared.dir, dir, { recursive: true })
    chmodSync(dir, 0o700)
    const acked: string[] = []
    const failing = await serve({
      dir,
      wrap: ['strace', '-f', '-qqo', '/dev/null', '-e', 'trace=fsync', '-e', `inject=fsync:error=EIO:when=${n}`],
    }).catch(() => undefined)
    if (failing) {
      const load = writeLoad(failing, key, 4)
      expect(await failing.exited).not.toBe(0)
      await load.stop()
      acked.push(...load.acked)
    }
    const revived = await serve({ dir })
    expect(await missing(revived, key, acked)).toEqual([])
    await revived.stop()
  }
}, 900_000)
