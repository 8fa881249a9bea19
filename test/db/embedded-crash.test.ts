import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { isShort } from '../support/thorough.ts'
import { allowing } from '../support/timing.ts'

setDefaultTimeout(300_000)
const folder = mkdtempSync(join(tmpdir(), 'tutti-crash-'))
const root = join(import.meta.dir, '../..')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Opens the directory and writes rows for ever, printing each id only once it was acknowledged. One writer holds the
 * session for its transactions, the others share fsyncs.
 */
const writer = `
  import { writeSync } from 'node:fs'
  import { openEmbedded } from ${JSON.stringify(join(root, 'src/db/embedded/index.ts'))}
  const db = await openEmbedded({ dir: process.argv[1], minFreeBytes: 0, log: (level, message) => writeSync(2, message + '\\n') })
  writeSync(1, 'open\\n')
  await db.exec('create table if not exists acked (id text primary key, v text)')
  const write = async (insert) => {
    for (;;) {
      const id = crypto.randomUUID()
      const tx = await db.begin()
      await insert(tx, { text: "insert into acked values ($1, repeat('x', 500))", params: [id] })
      await tx.commit([{ text: 'update acked set v = $1 where id = $2', params: ['done', id] }])
      writeSync(1, id + '\\n')
    }
  }
  write((tx, { text, params }) => tx.query(text, params))
  for (let i = 0; i < 8; i++) write((tx, statement) => tx.defer(statement))`

function start(dir: string, wrapper: string[] = []) {
  const child = Bun.spawn([...wrapper, process.execPath, '-e', writer, dir], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const lines: string[] = []
  let wake = () => {}
  const done = (async () => {
    let rest = ''
    for await (const chunk of child.stdout) {
      const parts = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
      wake()
    }
    wake()
  })()
  return {
    child,
    lines,
    /** All output has been read and the process is gone. */
    ended: Promise.all([done, child.exited]).then(() => undefined),
    async until(count: number) {
      while (lines.length < count && child.exitCode === null) {
        await new Promise<void>((resolve) => {
          wake = resolve
          void child.exited.then(() => resolve())
        })
      }
    },
  }
}

async function expectAll(dir: string, acked: string[]) {
  const db = await openEmbedded({ dir, minFreeBytes: 0 })
  const rows = await db.query('select id, v from acked')
  const stored = new Map(rows.rows as [string, string][])
  expect(acked.filter((id) => stored.get(id) !== 'done')).toEqual([])
  expect([...stored.values()].filter((v) => v !== 'done')).toEqual([])
  await db.query(
    'select bt_index_check(indexrelid, true) from pg_index join pg_class on pg_class.oid = indexrelid where relam = 403',
    [],
    { timeout: 0 },
  )
  await db.close()
}

describe('kill -9', () => {
  test('during writes loses no confirmed write', async () => {
    const dir = join(folder, 'writes')
    const acked: string[] = []
    for (const count of isShort ? [100] : [2, 300]) {
      const run = start(dir)
      await run.until(count)
      run.child.kill('SIGKILL')
      await run.ended
      expect(run.lines.length).toBeGreaterThanOrEqual(count)
      acked.push(...run.lines.slice(1))
      await expectAll(dir, acked)
    }
  })

  test.each(isShort ? ['db.tmp/global', 'db'] : ['db.tmp', 'db.tmp/global', 'db', 'db/postmaster.pid'])(
    'of a first start when %s has appeared leaves a directory that opens',
    async (path) => {
      const dir = join(folder, `first-${path.replace('/', '-')}`)
      const run = start(dir)
      while (!existsSync(join(dir, path)) && run.child.exitCode === null) await Bun.sleep(1)
      run.child.kill('SIGKILL')
      await run.ended
      const db = await openEmbedded({ dir, minFreeBytes: 0 })
      expect((await db.query('select 1')).rows).toEqual([[1]])
      expect(existsSync(join(dir, 'db.tmp'))).toBe(false)
      await db.close()
    },
  )
})

test('a data folder has one owner at a time, and the next takes over when that one is killed', async () => {
  const dir = join(folder, 'owned')
  const first = start(dir)
  await first.until(1)
  const asked = performance.now()
  const refused = await openEmbedded({ dir }).catch((error: Error) => error.message)
  expect(performance.now() - asked).toBeLessThan(allowing(1000))
  expect(refused).toContain(`${dir} is in use by another tutti process (pid ${first.child.pid})`)
  const second = start(dir)
  await second.ended
  expect(second.child.exitCode).not.toBe(0)
  expect(await new Response(second.child.stderr).text()).toContain(
    `in use by another tutti process (pid ${first.child.pid})`,
  )
  first.child.kill('SIGKILL')
  await first.ended
  const db = await openEmbedded({ dir, minFreeBytes: 0 })
  await expect(openEmbedded({ dir })).rejects.toThrow(`(pid ${process.pid})`)
  await db.close()
})

test.skipIf(Bun.which('strace') === null)(
  'a failed fsync ends the process and nothing unsafe is acknowledged',
  async () => {
    const dir = join(folder, 'fsync')
    await (await openEmbedded({ dir, minFreeBytes: 0 })).close()
    const run = start(dir, [
      'strace',
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fsync',
      '-e',
      'inject=fsync:error=EIO:when=60',
    ])
    await run.ended
    expect(run.child.exitCode).toBe(1)
    expect(await new Response(run.child.stderr).text()).toContain('the disk failed, stopping')
    expect(run.lines.length).toBeGreaterThan(10)
    await expectAll(dir, run.lines.slice(1))
  },
)
