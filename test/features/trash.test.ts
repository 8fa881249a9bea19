import { beforeAll, expect, test } from 'bun:test'
import type { TrashPage } from '../../src/features/trash/schema.ts'
import { restorableNames } from '../../src/records/names.ts'
import type { Person } from '../support/app.ts'
import { containersLast, deletionPath, oneOfEach } from '../support/records.ts'
import { newTask, newTeam, remove, start, t } from './tasks-support.ts'

beforeAll(start)

const trashOf = async (who: Person, query = '') => (await who.fetch<TrashPage>('GET', `/api/trash${query}`)).body
const titles = async (who: Person, query = '') => (await trashOf(who, query)).items.map(({ title }) => title)
/** Lets the deletion of a record have happened that many hours earlier. */
const earlier = async (id: string, table: string, hours: number) => {
  for (const [name, column, of] of [
    ['events', 'at', 'subject_id'],
    [table, 'deleted_at', 'id'],
  ])
    await t.app.driver.query(
      `update ${name} set ${column} = ${column} - make_interval(hours => $2) where ${of} = $1::uuid`,
      [id, hours],
    )
}

test('everything that can be restored is listed with its path, and restored by it', async () => {
  const { member, other, viewer, stranger } = await newTeam()
  const made = await oneOfEach(member, { kinds: [...new Set([...restorableNames, 'project' as const])] })
  for (const kind of containersLast(restorableNames)) {
    const { id } = made[kind]
    expect([kind, (await member.fetch('DELETE', deletionPath(made, kind))).status]).toEqual([kind, 200])
    const found = (await trashOf(member, `?kind=${kind}`)).items.find((item) => item.id === id)
    expect(found).toMatchObject({ kind, deletedBy: { type: 'user', name: 'Edsger' } })
    const restore = async (who: Person) => {
      const { status, body } = await who.fetch('POST', `/api${found?.path}/restore`)
      return [kind, status, body.version]
    }
    expect(await restore(member)).toEqual([kind, 200, 3])
    expect((await trashOf(member, `?kind=${kind}`)).items.map((item) => item.id)).not.toContain(id)
    // Once it is back, restoring it changes nothing, for everybody who may change it.
    for (const who of [member, other]) expect(await restore(who)).toEqual([kind, 200, 3])
    expect((await restore(viewer)).slice(0, 2)).toEqual([kind, 403])
    expect((await restore(stranger)).slice(0, 2)).toEqual([kind, 404])
  }
})

test('a member sees what they deleted within a day, an administrator everything within thirty days', async () => {
  const team = await newTeam()
  const { member, admin, other, viewer, stranger, project } = team
  const [a, b] = [
    await newTask(member, project, { title: 'Mine' }),
    await newTask(member, project, { title: 'Theirs' }),
  ]
  await remove(member, a)
  await remove(other, b)
  expect(await titles(member)).toEqual(['Mine'])
  expect(await titles(admin)).toEqual(['Theirs', 'Mine'])
  const first = await trashOf(admin, '?limit=1')
  expect(await titles(admin, `?limit=1&cursor=${first.nextCursor}`)).toEqual(['Mine'])
  expect(await titles(admin, '?kind=note')).toEqual([])
  for (const who of [viewer, stranger]) expect(await titles(who)).toEqual([])
  const [mine] = (await trashOf(member)).items
  expect(Date.parse(mine?.restorableUntil ?? '') - Date.parse(mine?.deletedAt ?? '')).toBe(24 * 3_600_000)
  await earlier(a.id, 'tasks', 25)
  expect(await titles(member)).toEqual([])
  expect((await member.fetch('POST', `/api/tasks/${a.id}/restore`)).status).toBe(403)
  expect(await titles(admin)).toEqual(['Theirs', 'Mine'])
  await earlier(a.id, 'tasks', 30 * 24)
  expect(await titles(admin)).toEqual(['Theirs'])
})

test('records of a deleted or private project are not listed', async () => {
  const team = await newTeam()
  const { owner, admin, member, project } = team
  const task = await newTask(member, project, { title: 'Inside' })
  await remove(member, task)
  await owner.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })
  expect(await titles(member)).toEqual([])
  expect(await titles(admin)).toEqual(['Inside'])
  await owner.fetch('DELETE', `/api/projects/${project.id}`)
  expect(await titles(admin)).toEqual([project.name])
  const note = (await member.fetch<{ id: string }>('POST', '/api/notes', { title: 'Diary', scope: 'personal' })).body
  await member.fetch('DELETE', `/api/notes/${note.id}`)
  expect(await titles(member)).toEqual(['Diary'])
  expect(await titles(admin, '?kind=note')).toEqual([])
})

test('an earlier deletion gives no right to undo a later one, or after losing the role', async () => {
  const { owner, member, project } = await newTeam()
  const task = await newTask(member, project, { title: 'Twice' })
  await remove(member, task)
  const restore = (who: Person, path: string) => who.fetch('POST', `/api/${path}/restore`)
  expect((await restore(member, `tasks/${task.id}`)).status).toBe(200)
  await remove(owner, task)
  expect((await restore(member, `tasks/${task.id}`)).status).toBe(403)
  const note = (await member.fetch<{ id: string }>('POST', '/api/notes', { title: 'Left behind' })).body
  const skill = (await member.fetch<{ id: string }>('POST', '/api/skills', { name: 'Sweep', content: 'Sweep.' })).body
  const own = (await member.fetch<{ id: string }>('POST', '/api/projects', { name: 'Mine alone' })).body
  const paths = [`notes/${note.id}`, `skills/${skill.id}`, `projects/${own.id}`]
  for (const path of paths) expect([path, (await member.fetch('DELETE', `/api/${path}`)).status]).toEqual([path, 200])
  const role = `/api/teams/${owner.organizationId}/members/${member.userId}`
  expect((await owner.fetch('PATCH', role, { role: 'viewer' })).status).toBe(200)
  // From a team of their own, where they may write.
  const home = (await member.fetch<{ id: string }>('POST', '/api/teams', { name: 'Home' })).body
  for (const path of paths) {
    const answer = await member.fetch('POST', `/api/${path}/restore`, undefined, { 'x-organization-id': home.id })
    expect([path, answer.status]).toEqual([path, 403])
  }
})
