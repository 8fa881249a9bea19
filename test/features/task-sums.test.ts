import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { isShort } from '../support/thorough.ts'
import { newProject, newTeam, start, type Team, t } from './tasks-support.ts'

/** The sums that triggers keep, after statements that write many tasks at once: only SQL writes so, never the API. */
beforeAll(start)

const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const status = pick('backlog', 'todo', 'in_progress', 'in_review', 'done', 'cancelled')
const daysAgo = fc.nat(3)
const party = pick('user', 'agent', null)
const task = fc.record({
  project: fc.nat(1),
  status,
  deleted: pick(false, false, false, true),
  created: daysAgo,
  updated: daysAgo,
  completed: fc.option(daysAgo),
  by: party,
  assignee: party,
  parent: fc.option(fc.nat(30)),
})
/** Which tasks a statement is about: those whose number leaves this rest. */
const some = fc.record({ of: fc.integer({ min: 1, max: 4 }), rest: fc.nat(3) })
const moment = (n: number) => `now() - interval '${n} days'`
const literal = (value: string | null) => (value === null ? 'null::text' : `'${value}'`)
const change = fc.oneof(
  status.map((value) => `status = '${value}'`),
  pick('deleted_at = now()', 'deleted_at = null', 'position = position + 1', 'project_id = project_id'),
  fc.nat(1).map((n) => `project_id = ($1::uuid[])[${n + 1}], number = number + 100000`),
  daysAgo.map((n) => `created_at = ${moment(n)}`),
  daysAgo.map((n) => `completed_at = ${moment(n)}, status = 'done'`),
  party.map((who) => `completed_by_type = ${literal(who)}`),
  party.map((who) => `assignee_type = ${literal(who)}`),
)
const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ insert: fc.array(task, { maxLength: 8 }) }) },
  { weight: 4, arbitrary: fc.record({ update: change, some }) },
  { weight: 1, arbitrary: fc.record({ remove: some }) },
)
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

class World {
  #made = 0

  private constructor(
    private readonly team: Team,
    private readonly projects: string[],
  ) {}

  static async of(team: Team): Promise<World> {
    return new World(team, [(await newProject(team.owner)).id, (await newProject(team.owner)).id])
  }

  #query = (text: string) => t.app.driver.query(text, [`{${this.projects.join(',')}}`])

  async do(what: Act): Promise<void> {
    const theirs = 'project_id = any($1::uuid[])'
    const where = ({ of, rest }: { of: number; rest: number }) => `${theirs} and number % ${of} = ${rest % of}`
    if ('update' in what) await this.#query(`update tasks set ${what.update} where ${where(what.some)}`)
    else if ('remove' in what) await this.#query(`delete from tasks where ${where(what.remove)}`)
    else await this.#insert(what.insert)
  }

  /** One statement, also for none. */
  async #insert(list: Extract<Act, { insert: unknown }>['insert']): Promise<void> {
    const rows = list.map((one) => {
      const parent =
        one.parent === null ? 'null::uuid' : `(select id from tasks where ${this.#nth(one.parent)} limit 1)`
      const number = ++this.#made
      return `select ($1::uuid[])[${one.project + 1}], ${number}, '${one.status}', ${moment(one.created)},
        ${moment(one.updated)}, ${one.deleted ? 'now()' : 'null::timestamptz'},
        ${one.completed === null ? 'null::timestamptz' : moment(one.completed)}, ${literal(one.by)}, ${literal(one.assignee)}, ${parent}`
    })
    await this.#query(`insert into tasks (id, organization_id, title, priority, position, labels, acceptance,
        project_id, number, status, created_at, updated_at, deleted_at, completed_at, completed_by_type, assignee_type,
        parent_id)
      select gen_random_uuid(), '${this.team.id}', 'One', 'low', 1, '{}', '[]', r.* from (
        ${rows.length > 0 ? rows.join('\nunion all ') : `${blank} where false`}) r`)
  }

  #nth = (n: number) => `project_id = any($1::uuid[]) and number = ${n}`

  /** Returns by how much the sums and the parents differ from the tasks, counted one by one. */
  async wrong(): Promise<unknown[]> {
    const { rows } = await this.#query(`
      with mine as (select * from tasks where project_id = any($1::uuid[])),
      live as (select *, coalesce(completed_by_type, assignee_type, 'user') = 'agent' as by_agent from mine
        where deleted_at is null),
      days as (
        select project_id, (created_at at time zone 'UTC')::date as day, 1 as scope, 0 as people, 0 as agents from live
          where status <> 'cancelled'
        union all select project_id, (coalesce(completed_at, updated_at) at time zone 'UTC')::date, 0,
          (not by_agent)::int, by_agent::int from live where status = 'done'
        union all select project_id, day, -scope, -people, -agents from task_days where project_id = any($1::uuid[])),
      counts as (
        select project_id, status, 1 as n from live
        union all select project_id, status, -n from task_counts where project_id = any($1::uuid[]))
      select 'day', day::text, sum(scope), sum(people), sum(agents) from days group by project_id, day
        having sum(scope) <> 0 or sum(people) <> 0 or sum(agents) <> 0
      union all select 'status', status, sum(n), 0, 0 from counts group by project_id, status having sum(n) <> 0
      union all select 'parent', number::text, 0, 0, 0 from mine m where has_open_parts <> exists (
        select 1 from live p where p.parent_id = m.id and p.status not in ('done', 'cancelled'))`)
    return rows
  }
}

const blank = `select ($1::uuid[])[1], 0, '', now(), now(), now(), now(), '', '', null::uuid`

test('the stored sums stay correct after statements that insert, change or delete many tasks', async () => {
  const team = await newTeam()
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 16 }), async (history) => {
      const world = await World.of(team)
      for (const what of history) {
        await world.do(what)
        expect([what, await world.wrong()]).toEqual([what, []])
      }
    }),
    { numRuns: isShort ? 3 : 8, seed: 7, endOnFailure: true },
  )
})
