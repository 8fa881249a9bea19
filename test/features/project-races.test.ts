import { expect, test } from 'bun:test'
import { getTableName } from 'drizzle-orm'
import { ada, newProject, newTeam, t } from './spaces.ts'
import { inside, statuses, times } from './support.ts'

const plan = { epics: [{ title: 'E', stories: [{ title: 'S', tasks: [{ title: 'T' }] }] }] }

/** While eight people write in each of these projects, somebody does this to it. */
async function during(rounds: number, end: (path: string) => Promise<{ status: number }>) {
  const owner = inside(ada, (await newTeam()).id)
  const projects: string[] = []
  for (let round = 0; round < rounds; round++) {
    const { id } = await newProject({ id: owner.organizationId })
    const path = `/api/projects/${id}`
    const writes = times(8, (i) => [
      () => owner.fetch('POST', `${path}/plan`, plan),
      () => owner.fetch('POST', `${path}/features`, { title: `Feature ${i}` }),
      () => owner.fetch('POST', '/api/notes', { title: `Note ${i}`, projectId: id, scope: 'public' }),
    ]).flat()
    const half = writes.length / 2
    const before = writes.slice(0, half).map((write) => write())
    const ended = end(path)
    const answers = await Promise.all([...before, ...writes.slice(half).map((write) => write())])
    expect((await ended).status).toBe(200)
    expect(statuses(answers).filter((status) => status !== 201 && status !== 404)).toEqual([])
    projects.push(id)
  }
  const wrong: unknown[] = []
  for (const table of t.app.records.inProjects) {
    const { rows } = await t.app.driver.query(
      `select c.id from ${getTableName(table)} c join projects p on p.id = c.project_id
       where p.id = any($1::uuid[]) and (c.organization_id <> p.organization_id or (p.deleted_at is null) <> (c.deleted_at is null))`,
      [`{${projects.join(',')}}`],
    )
    wrong.push([getTableName(table), rows.length])
  }
  return wrong
}
const none = () => t.app.records.inProjects.map((table) => [getTableName(table), 0])

test('a record added to a project while it moves to another team moves with it', async () => {
  const { id } = await newTeam()
  expect(await during(8, (path) => ada.fetch('PATCH', path, { organizationId: id }))).toEqual(none())
}, 300_000)

test('a record added to a project while it is deleted is deleted with it', async () => {
  expect(await during(8, (path) => ada.fetch('DELETE', path))).toEqual(none())
}, 300_000)
