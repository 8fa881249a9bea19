import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { loadDefaults, loadExamples, type Seeded } from '../../seeds/index.ts'
import { contextOf } from '../../src/action.ts'
import { events } from '../../src/events/table.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import * as notes from '../../src/features/notes/service.ts'
import { notes as noteTable } from '../../src/features/notes/table.ts'
import * as projects from '../../src/features/projects/service.ts'
import { projects as projectTable } from '../../src/features/projects/table.ts'
import { PASSWORD, person, systemCtx, type TestApp } from '../support/app.ts'
import { failure, ownApp } from './support.ts'

/** Seeds belong to the first administrator of an instance, so they get one of their own; it has none until the second test. */
let t: TestApp
beforeAll(async () => {
  t = await ownApp()
})
afterAll(() => t.close())

const load = (seed: typeof loadDefaults): Promise<Seeded> => seed(systemCtx(t), {})
/** Everything that seeds could touch. */
const everything = async () => [
  await t.app.db.select().from(projectTable).orderBy(projectTable.id),
  await t.app.db.select().from(noteTable).orderBy(noteTable.id),
]

const seeds = [
  { name: 'defaults', seed: loadDefaults, size: { projects: 1, notes: 2 } },
  { name: 'examples', seed: loadExamples, size: { projects: 2, notes: 6 } },
]

test('seeds need an administrator who owns the records', async () => {
  for (const { seed } of seeds) expect(await failure(load(seed))).toMatchObject({ code: 'conflict' })
  expect(await everything()).toEqual([[], []])
})

describe.each(seeds)('the seed $name', ({ seed, size }) => {
  beforeAll(async () => {
    await accounts.createAdmin(systemCtx(t), { email: 'boss@example.com', password: PASSWORD, name: 'Boss' })
  })

  test('creates missing records, and nothing the second time', async () => {
    const before = await everything()
    const first = await load(seed)
    expect(first).toMatchObject({ kept: [] })
    expect(first.made.filter((m) => m.startsWith('project '))).toHaveLength(size.projects)
    expect(first.made.filter((m) => m.startsWith('note '))).toHaveLength(size.notes)
    const made = await everything()
    expect(made.map((rows, i) => rows.length - (before[i]?.length ?? 0))).toEqual([size.projects, size.notes])

    const traces = (await t.app.db.select().from(events)).length
    const second = await load(seed)
    expect(second).toEqual({ made: [], kept: first.made })
    expect(await everything()).toEqual(made)
    expect((await t.app.db.select().from(events)).length).toBe(traces)

    // Only what was taken away comes back.
    const lost = made[1]?.at(-1) as { id: string; title: string }
    await t.app.db.delete(noteTable).where(eq(noteTable.id, lost.id))
    expect((await load(seed)).made).toEqual([`note ${lost.title}`])
  })

  test('acts as the administrator, by the usual rules', async () => {
    const admin = (await accounts.firstAdmin(systemCtx(t), {})) as string
    const ctx = contextOf(t.app, await t.app.auth.actorFor(admin))
    const seeded = await projects.list(ctx, { limit: 200 })
    expect(seeded.items.length).toBeGreaterThanOrEqual(size.projects)
    for (const project of seeded.items) {
      expect(project).toMatchObject({
        createdById: admin,
        organizationId: ctx.actor.organizationId as string,
        visibility: 'team',
      })
      const { recentActivity } = await projects.get(ctx, { ref: project.id })
      expect(recentActivity?.at(-1)).toMatchObject({ type: 'project.created', actor: { id: admin } })
      const inside = await notes.list(ctx, { projectId: project.id })
      for (const note of inside.items) expect(note).toMatchObject({ scope: 'team', createdById: admin })
    }
    // Their wiki links lead somewhere.
    const all = await t.app.db.select({ mentions: noteTable.mentions, title: noteTable.title }).from(noteTable)
    const titles = new Set(all.map((n) => n.title.toLowerCase()))
    for (const mention of all.flatMap((n) => n.mentions)) expect(titles).toContain(mention)
  })
})

test('seeds do not create again what the administrator archived', async () => {
  await load(loadDefaults)
  const ctx = contextOf(t.app, await t.app.auth.actorFor((await accounts.firstAdmin(systemCtx(t), {})) as string))
  await projects.archive(ctx, { ref: 'getting-started' })
  const before = await everything()
  expect((await load(loadDefaults)).made).toEqual([])
  expect(await everything()).toEqual(before)
})

test('seeds are for the machine only', async () => {
  const boss = await person(t, { admin: true })
  for (const seed of [loadDefaults, loadExamples])
    expect(await failure(seed(await boss.ctx(), {}))).toMatchObject({ code: 'forbidden' })
})
