import { describe, expect, test } from 'bun:test'
import type { Role } from '../../src/auth/policy.ts'
import { addMember } from '../../src/features/admin/teams.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { Project, Synced } from '../../src/features/projects/schema.ts'
import type { Workspace } from '../../src/features/workspaces/schema.ts'
import { call, type Person, person, sharedApp, systemCtx, type TestApp } from '../support/app.ts'
import { addTeam, dropTeam, put } from './spaces.ts'
import { expectNoEvents, ownApp, TestClock, watch } from './support.ts'

describe('POST /api/workspaces/sync', () => {
  /** Uses its own database: deleting a team makes everybody start over. */
  async function alone(work: (own: TestApp, clock: TestClock) => Promise<void>): Promise<void> {
    const clock = new TestClock()
    const own = watch(await ownApp(clock.now))
    try {
      await work(own, clock)
    } finally {
      await own.close()
    }
  }
  const sync = (who: Person, since?: string) =>
    who.fetch<Synced>('POST', '/api/workspaces/sync', { ...(since && { since }) })
  const brief = ({ full, items, removed }: Synced) => ({ full, names: items.map((w) => w.name), removed })

  test(
    'returns everything first, and then the changes',
    () =>
      alone(async (own, clock) => {
        const boss = await person(own)
        const space = async (name: string) => (await boss.fetch<Workspace>('POST', '/api/workspaces', { name })).body
        const [a, b, c] = [await space('a'), await space('b'), await space('c')]
        const project = (await boss.fetch<Project>('POST', '/api/projects', { name: 'p' })).body
        await put(boss, project, a.id)
        await boss.fetch('PATCH', `/api/workspaces/${c.id}`, { status: 'archived' })
        let last = (await sync(boss)).body
        expect(last).toMatchObject({ full: true, removed: [], syncedAt: clock.now().toISOString() })
        expect(last.items.map((w) => [w.name, w.status, w.projects.map((p) => p.id)])).toEqual([
          ['a', 'active', [project.id]],
          ['b', 'active', []],
          ['c', 'archived', []],
        ])
        // Whatever was begun within the minute before is sent once more: it may have been stored after it.
        clock.forward({ seconds: 50 })
        last = (await sync(boss, last.syncedAt)).body
        expect(brief(last)).toEqual({ full: false, names: ['a', 'b', 'c'], removed: [] })
        clock.forward({ seconds: 50 })
        last = (await sync(boss, clock.now().toISOString())).body
        expect(brief(last)).toEqual({ full: false, names: [], removed: [] })

        const changes: [() => Promise<unknown>, string[], string[]][] = [
          [() => boss.fetch('PATCH', `/api/workspaces/${b.id}`, { folders: ['x'] }), ['b'], []],
          [() => boss.fetch('PUT', `/api/projects/${project.id}`, { description: 'new' }), ['a'], []],
          [() => put(boss, project, b.id), ['a', 'b'], []],
          [() => boss.fetch('DELETE', `/api/projects/${project.id}`), ['b'], []],
          [() => boss.fetch('DELETE', `/api/workspaces/${c.id}`), [], [c.id]],
          [() => boss.fetch('PATCH', `/api/teams/${boss.organizationId}`, { name: 'Other' }), ['a', 'b'], []],
        ]
        for (const [act, names, removed] of changes) {
          expect(((await act()) as { status: number }).status).toBe(200)
          clock.forward({ seconds: 61 })
          last = (await sync(boss, last.syncedAt)).body
          expect(brief(last)).toEqual({ full: false, names, removed })
        }
        expect((await sync(boss, new Date(clock.now().getTime() - 8 * 86_400_000).toISOString())).body).toMatchObject({
          full: true,
        })
      }),
    300_000,
  )

  test(
    'reports workspaces shared and taken back, and starts over when rights changed',
    () =>
      alone(async (own, clock) => {
        const [boss, me] = [await person(own), await person(own)]
        const team = (await boss.fetch<Organization>('POST', '/api/teams', { name: 'other' })).body
        const space = (await boss.fetch<Workspace>('POST', '/api/workspaces', { name: 'shared' })).body
        const role = (to: Role) => boss.fetch('PATCH', `/api/teams/${team.id}/members/${me.userId}`, { role: to })
        await addMember(systemCtx(own), { id: team.id, userId: me.userId, role: 'member' })
        clock.forward({ seconds: 61 })
        let last = clock.now().toISOString()
        const next = async () => {
          clock.forward({ seconds: 61 })
          const { body } = await sync(me, last)
          last = body.syncedAt
          return { ...brief(body), role: body.items[0]?.role }
        }
        const nothing = { full: false, names: [], removed: [], role: undefined }
        expect(await next()).toEqual(nothing)
        await addTeam(boss, space, team, 'editor')
        expect(await next()).toEqual({ full: false, names: ['shared'], removed: [], role: 'member' })
        await role('viewer')
        expect(await next()).toEqual({ full: true, names: ['shared'], removed: [], role: 'viewer' })
        expect(await next()).toEqual(nothing)
        await dropTeam(boss, space, team)
        expect(await next()).toEqual({ ...nothing, removed: [space.id] })
        await addTeam(boss, space, team, 'viewer')
        expect(await next()).toMatchObject({ names: ['shared'], removed: [] })
        await boss.fetch('DELETE', `/api/teams/${team.id}/members/${me.userId}`)
        expect(await next()).toEqual({ ...nothing, full: true })
      }),
    300_000,
  )

  test('changes nothing, and its description says what it returns', async () => {
    const t = watch(await sharedApp())
    const ada = await person(t)
    const space = (await ada.fetch<Workspace>('POST', '/api/workspaces', { name: 'a' })).body
    const answer = await sync(ada)
    await expectNoEvents(t, answer)
    expect(answer.body.items).toMatchObject([{ id: space.id, version: space.version, projects: [] }])
    const document = (
      await call<{ paths: Record<string, Record<string, { summary: string }>> }>(t, 'GET', '/api/openapi.json')
    ).body
    expect(document.paths['/api/workspaces/sync']?.post?.summary).toBe(
      'Refresh your workspaces: all, or those that changed since a time, each with all its projects',
    )
  })
})
