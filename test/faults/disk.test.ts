import { expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import { apiKeyFor, folder, json, serve } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { missing, writeLoad } from './load.ts'

const note = (key: string, size: number) => json('POST', { title: 'filler', content: 'x'.repeat(size) }, key)

async function onTmpfs(sizeMb: number, work: (dir: string, root: string) => Promise<void>): Promise<void> {
  const root = folder('tutti-disk-')
  await $`mount -t tmpfs -o size=${sizeMb}m none ${root}`.quiet()
  try {
    mkdirSync(join(root, 'data'), { mode: 0o700 })
    await work(join(root, 'data'), root)
  } finally {
    await $`umount -l ${root}`.quiet().nothrow()
  }
}

test('with little disk space, writes return 507, reads work, and the server recovers by itself', async () => {
  await onTmpfs(400, async (dir, root) => {
    const server = await serve({ dir, env: { DB_MIN_FREE_MB: '100' } })
    const key = await apiKeyFor(server)
    const first = await fetch(`${server.url}/api/notes`, note(key, 100))
    expect(first.status).toBe(201)
    const { id } = (await first.json()) as { id: string }
    await leave(root, 50_000)
    const refused = await untilStatus(() => fetch(`${server.url}/api/notes`, note(key, 100)), 507)
    expect(((await refused.json()) as { code: string }).code).toBe('disk_full')
    expect((await fetch(`${server.url}/api/notes/${id}`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(
      200,
    )
    expect(((await (await fetch(`${server.url}/health`)).json()) as { status: string }).status).toBe('read_only')
    await $`rm ${join(root, 'other')}`
    await untilStatus(() => fetch(`${server.url}/api/notes`, note(key, 100)), 201)
    expect(await server.stop()).toBe(0)
  })
}, 300_000)

test('a disk that fills up under load loses no confirmed write, and the server recovers', async () => {
  await onTmpfs(170, async (dir, root) => {
    const server = await serve({ dir })
    const key = await apiKeyFor(server)
    const load = writeLoad(server, key, 4)
    await load.until(50)
    await leave(root, 3000)
    const refused = () => [...load.statuses].some(([status]) => status === 507 || status === 503)
    const deadline = Date.now() + 120_000
    while (!refused() && Date.now() < deadline) await Bun.sleep(20)
    expect(refused()).toBe(true)
    await $`rm ${join(root, 'other')}`
    const before = load.acked.length
    await load.until(20)
    expect(load.acked.length).toBeGreaterThan(before)
    await load.stop()
    expect(await missing(server, key, load.acked)).toEqual([])
    expect(await server.stop()).toBe(0)
  })
}, 300_000)

/** Fills the disk but for so many KiB. Tries again if the server has taken some of it meanwhile, such as a new WAL segment. */
async function leave(root: string, kib: number): Promise<void> {
  await until(async () => {
    const { stdout } = await $`df --output=avail -k ${root}`.quiet()
    const free = Number(stdout.toString().trim().split('\n').pop())
    return (await $`fallocate -l ${free - kib}K ${join(root, 'other')}`.quiet().nothrow()).exitCode === 0
  })
}

async function untilStatus(attempt: () => Promise<Response>, status: number): Promise<Response> {
  const deadline = Date.now() + 120_000
  for (;;) {
    const response = await attempt()
    if (response.status === status) return response
    if (Date.now() > deadline)
      throw new Error(`still ${response.status} instead of ${status}: ${await response.text()}`)
    await Bun.sleep(50)
  }
}
