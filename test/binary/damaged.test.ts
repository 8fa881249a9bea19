import { beforeAll, expect, test } from 'bun:test'
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEmbedded } from '../../src/db/embedded/index.ts'
import { apiKeyFor, folder, json, serve, tutti } from '../support/binary.ts'

const good = folder()
const backup = join(folder(), 'good.backup')
let notes = ''

beforeAll(async () => {
  const server = await serve({ dir: good, env: { EMBEDDINGS: 'off' } })
  const key = await apiKeyFor(server)
  await fetch(`${server.url}/api/notes`, json('POST', { title: 'Kept' }, key))
  expect((await tutti(['backup', backup, '--data-dir', good])).code).toBe(0)
  await server.stop()
  const driver = await openEmbedded({ dir: good, minFreeBytes: 0 })
  notes = String((await driver.query("select pg_relation_filepath('notes')")).rows[0]?.[0])
  await driver.close()
}, 300_000)

const damage: [string, (db: string) => void][] = [
  ['that does not open', (db) => rmSync(join(db, 'global', 'pg_control'))],
  ['that is none any more', (db) => rmSync(join(db, 'PG_VERSION'))],
  ['of which one table cannot be read', (db) => writeFileSync(join(db, notes), Buffer.alloc(8192, 0xa5))],
]
test.each(damage)(
  'a database %s: the advice of tutti doctor works, and the damaged files are kept',
  async (_, harm) => {
    const dir = folder()
    cpSync(good, dir, { recursive: true })
    harm(join(dir, 'db'))
    const doctor = await tutti(['doctor', '--data-dir', dir], { env: { EMBEDDINGS: 'off' } })
    expect(doctor.code).toBe(6)
    expect(doctor.out).toContain('tutti restore FILE --replace')
    const restored = await tutti(['restore', backup, '--replace', '--data-dir', dir, '--json'])
    expect(restored).toMatchObject({ code: 0, err: expect.stringContaining('The existing data is damaged: ') })
    const { replaced } = JSON.parse(restored.out) as { replaced: string }
    expect(existsSync(join(replaced, 'base'))).toBe(true)
    const sound = await tutti(['doctor', '--data-dir', dir], { env: { EMBEDDINGS: 'off' } })
    expect(sound.code).toBe(0)
  },
  300_000,
)

test('a database that another process has open is not reported as damaged', async () => {
  const driver = await openEmbedded({ dir: good, minFreeBytes: 0 })
  try {
    const refused = await tutti(['restore', backup, '--replace', '--data-dir', good])
    expect(refused).toMatchObject({ code: 6, err: expect.stringContaining(`pid ${process.pid}`) })
    expect(readdirSync(good).filter((name) => name.startsWith('db'))).toEqual(['db'])
  } finally {
    await driver.close()
  }
})
