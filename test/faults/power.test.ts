import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import { apiKeyFor, folder, serve } from '../support/binary.ts'
import { amcheck } from './check.ts'
import { missing, rounds, writeLoad } from './load.ts'

/**
 * A power cut: the server writes to a file system on a loop device; its backing file, copied while the server is stopped mid-write, holds only
 * what had reached the "disk". The upper file system commits by itself only every 300 s, so anything that was not fsynced is not in the copy.
 */
test('power cuts under load lose no confirmed write', async () => {
  const count = rounds(3, 30)
  const root = folder('tutti-power-')
  let total = 0
  for (let round = 0; round < count; round++) {
    // Images of its own: a device that is still being detached from an earlier one would show that one's content.
    const at = (name: string) => join(root, String(round), name)
    for (const name of ['live', 'after']) mkdirSync(at(name), { recursive: true })
    await $`truncate -s 600M ${at('disk.img')} && mkfs.ext4 -qF ${at('disk.img')} && mount -o loop,commit=300 ${at('disk.img')} ${at('live')}`.quiet()
    const server = await serve({ dir: join(at('live'), 'data') })
    try {
      const key = await apiKeyFor(server)
      const load = writeLoad(server, key)
      await load.until(20 + Math.floor(Math.random() * 600))
      server.signal('SIGSTOP')
      const acked = [...load.acked]
      await $`cp --sparse=always ${at('disk.img')} ${at('cut.img')}`.quiet()
      await server.kill()
      await load.stop()
      await $`umount -l ${at('live')} && mount -o loop ${at('cut.img')} ${at('after')}`.quiet()
      const revived = await serve({ dir: join(at('after'), 'data') })
      expect(await missing(revived, key, acked)).toEqual([])
      expect(await revived.stop()).toBe(0)
      if (round === 0) await amcheck(join(at('after'), 'data'))
      total += acked.length
    } finally {
      await server.kill()
      // Lazily, because a process that has just ended may still hold it for a moment.
      await $`umount -l ${at('live')}`.quiet().nothrow()
      await $`umount -l ${at('after')}`.quiet().nothrow()
      rmSync(join(root, String(round)), { recursive: true, force: true })
    }
  }
  rmSync(root, { recursive: true, force: true })
  console.log(`${count} power cuts, ${total} answered writes, 0 lost`)
}, 900_000)
