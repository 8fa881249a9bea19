import { beforeAll, expect, test } from 'bun:test'
import { getTableName } from 'drizzle-orm'
import { events } from '../../src/all-features.ts'
import type { Note } from '../../src/features/notes/schema.ts'
import type { Feature } from '../../src/features/workflow/schema.ts'
import { recordNames } from '../../src/records/names.ts'
import { containersLast, deletionPath, oneOfEach } from '../support/records.ts'
import { expectEvent, expectRefusal } from './support.ts'
import { newTeam, start, type Team, t } from './tasks-support.ts'

/** Notes and features; tasks and what they stand in, and projects, are in tasks.test.ts and outline.test.ts. */
let team: Team
beforeAll(async () => {
  await start()
  team = await newTeam()
})

const note = async (input: object): Promise<Note> =>
  (await team.member.fetch<Note>('POST', '/api/notes', { title: 'Runbook', ...input })).body
const feature = async (input: object = {}): Promise<Feature> =>
  (await team.member.fetch<Feature>('POST', `/api/projects/${team.project.id}/features`, { title: 'Lock', ...input }))
    .body

test.each([
  ['note', 'notes', () => note({ scope: 'team' })],
  ['note', 'notes', () => note({ scope: 'team', projectId: team.project.id })],
  ['feature', 'features', () => feature()],
])(
  'a %s of the team is restored by its deleter within a day, and by administrators within thirty',
  async (noun, path, make) => {
    const { id } = await make()
    const back = (who = team.admin, headers = {}) =>
      who.fetch<{ version: number }>('POST', `/api/${path}/${id}/restore`, undefined, headers)
    const owned = noun === 'feature' ? `/api/projects/${team.project.id}/features/${id}` : `/api/notes/${id}`
    expect((await back()).body.version).toBe(1)
    expect((await team.member.fetch('DELETE', owned)).status).toBe(200)
    for (const who of [team.other, team.viewer]) expect((await back(who)).status).toBe(403)
    expect((await back(team.stranger)).status).toBe(404)
    await expectRefusal(t, await back(team.admin, { 'if-match': '"1"' }), 412, 'version_mismatch')
    const answer = await back()
    expect([answer.status, answer.body.version]).toEqual([200, 3])
    await expectEvent(t, answer, `${noun}.restored`)
    expect((await team.viewer.fetch('GET', `/api/${path}/${id}`)).status).toBe(200)
    await team.member.fetch('DELETE', owned)
    expect((await back(team.member)).status).toBe(200)
    await team.member.fetch('DELETE', owned)
    await t.app.driver.query("update events set at = at - interval '25 hours' where subject_id = $1", [id])
    expect((await back(team.member)).status).toBe(403)
    await t.app.driver.query(`update ${path} set deleted_at = now() - interval '31 days' where id = $1`, [id])
    expect((await back()).status).toBe(404)
  },
)

test('the event of a deletion has the version that the deletion made, for every kind', async () => {
  const kinds = recordNames.filter((kind) => events.some(({ name }) => name === `${kind}.deleted`))
  expect(kinds.length).toBeGreaterThan(7)
  const made = await oneOfEach(team.owner, { kinds: [...new Set([...kinds, 'project' as const])] })
  for (const kind of containersLast(kinds)) {
    const { id } = made[kind]
    const answer = await team.owner.fetch('DELETE', deletionPath(made, kind))
    const { rows } = await t.app.driver.query(
      `select (e.data ->> 'version')::int, r.version from events e, ${getTableName(t.app.records.get(kind).table)} r
        where e.type = $1 and e.subject_id = $2 and r.id = $2`,
      [`${kind}.deleted`, id],
    )
    expect([kind, answer.status, rows]).toEqual([kind, 200, [[2, 2]]])
  }
})

test('a personal note is restored by its author only', async () => {
  const { id } = await note({ scope: 'personal' })
  await team.member.fetch('DELETE', `/api/notes/${id}`)
  expect((await team.owner.fetch('POST', `/api/notes/${id}/restore`)).status).toBe(404)
  expect((await team.member.fetch('POST', `/api/notes/${id}/restore`)).status).toBe(200)
})

test('a feature is not restored if it would close a circle', async () => {
  const a = await feature()
  const b = await feature({ blockedBy: [a.id] })
  const c = await feature({ blockedBy: [b.id] })
  await team.member.fetch('DELETE', `/api/projects/${team.project.id}/features/${b.id}`)
  expect((await team.member.fetch('PATCH', `/api/features/${a.id}`, { blockedBy: [c.id] })).status).toBe(200)
  const back = () => team.admin.fetch('POST', `/api/features/${b.id}/restore`)
  expect((await expectRefusal(t, await back(), 409, 'conflict.cycle')).detail).toContain('«Lock» → «Lock»')
  await team.member.fetch('PATCH', `/api/features/${a.id}`, { blockedBy: [] })
  expect((await back()).status).toBe(200)
})
