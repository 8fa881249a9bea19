import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sumDays } from '../../src/features/teams/days.ts'
import type { Analytics } from '../../src/features/teams/schema.ts'
import { checkEventDays } from '../../src/features/upkeep/counts.ts'
import { systemCtx } from '../support/app.ts'
import { clock, complete, newProject, newTask, newTeam, startOnClock, type Team, t } from './tasks-support.ts'

let close: () => Promise<void>
beforeAll(async () => {
  close = await startOnClock()
})
afterAll(async () => {
  // The next test file of this process uses the database with another clock.
  await t.app.driver.exec(forgetAll)
  await close()
})

const forgetAll = `delete from event_days; delete from meta where key = 'event_days'`

const sum = () => sumDays(systemCtx(t), { least: 1, most: 7 })
const summed = async () => Number((await t.app.driver.query('select count(*)::int from event_days')).rows[0]?.[0])

/** What readers with different rights get, over one day and over a week. */
const numbers = (team: Team): Promise<Analytics[]> =>
  Promise.all(
    [team.owner, team.viewer].flatMap((who) =>
      [1, 2, 7].map(async (n) => (await who.fetch<Analytics>('GET', `/api/teams/${team.id}/analytics?days=${n}`)).body),
    ),
  )

async function work(team: Team): Promise<void> {
  const secret = await newProject(team.member, { visibility: 'private' })
  for (const project of [team.project, secret]) {
    const task = await newTask(team.member, project)
    await newTask(team.member, project)
    expect((await complete(team.member, task)).status).toBe(200)
  }
}

describe('the stored sums of past days', () => {
  test('return the same numbers to every reader, and doctor recalculates wrong ones', async () => {
    const team = await newTeam()
    await work(team)
    clock.forward({ days: 1 })
    await work(team)
    clock.forward({ minutes: 23 * 60 })
    const before = await numbers(team)
    await sum()
    expect(await summed()).toBeGreaterThan(0)
    expect(await numbers(team)).toEqual(before)
    // Four were completed within the week, two of them in a private project of the member.
    const completed = before.map((a) => a.completed.reduce((n, day) => n + day.count, 0))
    expect([completed[2], completed[5]]).toEqual([4, 2])

    await work(team)
    const withSums = await numbers(team)
    await t.app.driver.exec(forgetAll)
    expect(await numbers(team)).toEqual(withSums)
    expect(withSums).not.toEqual(before)
    await sum()
    await sum()
    expect(await numbers(team)).toEqual(withSums)
    expect(await checkEventDays(t.app.driver, false)).toMatchObject({ ok: true })

    // Somebody plays events of the past. They are added to the sums of their days, and no other sum is made again.
    const sums = () => t.app.driver.query('select id, day::text, n from event_days order by id')
    const older = (await sums()).rows
    const copied =
      'type, action, actor_kind, actor_id, actor_name, organization_id, project_id, data, request_id, origin'
    await t.app.driver.query(
      `insert into events (id, at, ${copied}) select gen_random_uuid(), at - interval '1 day', ${copied} from events
        where type = 'task.completed' and project_id = $1::uuid`,
      [team.project.id],
    )
    const played = await numbers(team)
    expect(played[5]?.completed.reduce((n, day) => n + day.count, 0)).toBe(6)
    await sum()
    expect(await numbers(team)).toEqual(played)
    expect((await sums()).rows.slice(0, older.length)).toEqual(older)
    expect(await checkEventDays(t.app.driver, false)).toMatchObject({ ok: true })

    await t.app.driver.exec('update event_days set n = n + 1')
    expect(await numbers(team)).not.toEqual(played)
    expect(await checkEventDays(t.app.driver, false)).toMatchObject({ ok: false })
    expect(await checkEventDays(t.app.driver, true)).toMatchObject({ ok: true })
    expect(await numbers(team)).toEqual(played)
    await sum()
    expect(await numbers(team)).toEqual(played)
  })

  test('are not made for few events, and continue after the last event summed', async () => {
    const team = await newTeam()
    await work(team)
    await sum()
    const before = await summed()
    await work(team)
    const expected = await numbers(team)
    await sumDays(systemCtx(t), {})
    expect(await summed()).toBe(before)
    await sumDays(systemCtx(t), { least: 2, most: 2 })
    expect(await summed()).toBeGreaterThan(before)
    expect(await numbers(team)).toEqual(expected)
  })
})
