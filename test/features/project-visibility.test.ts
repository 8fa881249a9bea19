import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { rightsOf } from '../../src/auth/rights.ts'
import { and } from '../../src/db/conditions.ts'
import { readersOf } from '../../src/features/projects/readers.ts'
import { visibleTo } from '../../src/features/projects/rows.ts'
import { visibilities } from '../../src/features/projects/schema.ts'
import { projects } from '../../src/features/projects/table.ts'
import { seesProject } from '../../src/live/audience.ts'
import { person, systemCtx } from '../support/app.ts'
import { addTeam, fullTeam, join, make, newProject, newTeam, people, stranger, t } from './spaces.ts'

const everyProject = (space: string) =>
  visibilities.flatMap((visibility) =>
    [null, space].flatMap((workspaceId) =>
      [people.owner.userId, people.viewer.userId, null].flatMap((createdById) =>
        [null, new Date().toISOString()].map((deletedAt) => ({ visibility, workspaceId, createdById, deletedAt })),
      ),
    ),
  )

/**
 * Who sees a project is written three times: for queries of the caller, in memory for events, and for people other than
 * the caller. All three must agree for every role, visibility, workspace and author.
 */
test('queries, the hub and the list of readers agree on who sees a project', async () => {
  const team = await fullTeam()
  const guests = await newTeam()
  await join(guests, stranger, 'member')
  const space = await make(team)
  expect((await addTeam(people.owner, space, guests, 'viewer')).status).toBe(201)
  const { id } = await newProject(team)
  const everybody = [...Object.values(people), stranger, await person(t)]
  const userIds = everybody.map(({ userId }) => userId)
  const contexts = await Promise.all(everybody.map((one) => one.ctx()))
  const { projects: known } = t.app.live.audience
  const answers = new Set<string>()

  for (const columns of everyProject(space.id)) {
    await t.app.db.update(projects).set(columns).where(eq(projects.id, id))
    known.clear()
    await known.load([id])
    const project = known.get(id)
    const inQueries: string[] = []
    for (const { db, actor } of contexts) {
      const seen = await db.$count(projects, and(eq(projects.id, id), visibleTo(rightsOf(actor))))
      if (seen > 0) inQueries.push(actor.userId as string)
    }
    const inMemory = contexts.flatMap(({ actor }) => (project && seesProject(actor, project) ? [actor.userId] : []))
    const asReaders = await readersOf(systemCtx(t), id, userIds)
    expect({ columns, inMemory, asReaders }).toEqual({ columns, inMemory: inQueries, asReaders: inQueries })
    answers.add(inQueries.join())
  }
  // Nobody, those who manage the team, also the author, the whole team, and also its guests.
  expect(answers.size).toBe(5)
})
