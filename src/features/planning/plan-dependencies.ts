import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { AppError, type FieldError, invalid } from '../../errors.ts'
import { findCycle, findPath } from '../../records/cycles.ts'
import { isId } from '../../records/reference.ts'
import { editDistance, isSimilar, MOST_TYPOS } from '../../text/similarity.ts'
import { lockTeam } from '../projects/names.ts'
import type { Project } from '../projects/schema.ts'
import { projects } from '../projects/table.ts'
import { visibleTo, withProject } from '../tasks/rows.ts'
import { tasks } from '../tasks/table.ts'

/** A task of a plan, before it is stored. */
interface PlannedTask {
  id: string
  title: string
  ref?: string
  blockedBy: readonly string[]
  /** Its place in the plan, as a JSON pointer. */
  at: string
}

interface PlanDependencies {
  dependencies: { taskId: string; blockedById: string }[]
  /** Ids of the existing tasks that new ones wait for. */
  existing: string[]
}

const MOST = 2000

/**
 * Resolves references to tasks of the plan, by ref or title, and to existing tasks, by key or id. Throws for cycles.
 */
export async function resolveDependencies(
  ctx: Ctx,
  { organizationId }: Project,
  list: readonly PlannedTask[],
): Promise<PlanDependencies> {
  if (list.reduce((sum, { blockedBy }) => sum + blockedBy.length, 0) > MOST)
    throw invalid('/epics', 'A plan can have at most 2,000 dependencies.', 'too_many')
  const named = taskFinder(list)
  const unknown = new Set(list.flatMap(({ blockedBy }) => blockedBy.filter((ref) => !named(ref))))
  const existing = await existingTasks(ctx, organizationId, unknown)
  const wrong: WrongReference[] = []
  const inPlan: { task: PlannedTask; blocker: PlannedTask }[] = []
  const onExisting: { taskId: string; blockedById: string }[] = []
  for (const task of list)
    for (const [i, ref] of task.blockedBy.entries()) {
      const blocker = named(ref)
      const id = existing.get(ref)
      if (blocker) inPlan.push({ task, blocker })
      else if (id) onExisting.push({ taskId: task.id, blockedById: id })
      else wrong.push({ task, i, ref })
    }
  if (wrong.length > 0) throw wrongReferencesError(list, wrong)
  requireNoCircle(list, inPlan)
  const within = inPlan.map(({ task, blocker }) => ({ taskId: task.id, blockedById: blocker.id }))
  return { dependencies: [...within, ...onExisting], existing: [...new Set(existing.values())] }
}

/** Returns a function that finds a task of the plan by its ref, else by its title. Refs must be unique. */
function taskFinder(list: readonly PlannedTask[]): (ref: string) => PlannedTask | undefined {
  const byRef = new Map<string, PlannedTask>()
  for (const task of list) {
    if (task.ref === undefined) continue
    if (byRef.has(task.ref))
      throw invalid(`${task.at}/ref`, `Two tasks have the ref ${JSON.stringify(task.ref)}. Give each task its own ref.`)
    byRef.set(task.ref, task)
  }
  const byTitle = Map.groupBy(list, ({ title }) => title.toLowerCase())
  return (ref) => {
    const alike = byTitle.get(ref.trim().toLowerCase()) ?? []
    return byRef.get(ref) ?? (alike.length === 1 ? alike[0] : undefined)
  }
}

/** A reference that looks like a key, or like an id or its prefix, which stands for a range of ids. */
interface Candidate {
  ref: string
  key?: string
  number?: string
  first?: string
  last?: string
}

const taskKey = /^([a-z]{2,6})-(\d{1,9})$/i
const idStart = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/

function candidateOf(ref: string): Candidate | undefined {
  const wanted = ref.trim().toLowerCase()
  const [, key, number] = taskKey.exec(wanted) ?? []
  if (key) return { ref, key: key.toUpperCase(), number }
  if (!idStart.test(wanted)) return undefined
  const first = wanted + '00000000-0000-0000-0000-000000000000'.slice(wanted.length)
  const last = wanted + 'ffffffff-ffff-ffff-ffff-ffffffffffff'.slice(wanted.length)
  return isId(first) ? { ref, first, last } : undefined
}

/**
 * Returns the ids of the team's existing tasks, by reference. One query finds all, with the same rules as for a single
 * task (tasks/rows.ts): a key in the current team first, then in shared workspaces; an id prefix only if it is unique.
 */
async function existingTasks(
  ctx: Ctx,
  organizationId: string,
  refs: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const candidates = [...refs].flatMap((ref) => candidateOf(ref) ?? [])
  if (candidates.length === 0) return new Map()
  await lockTeam(ctx, organizationId)
  const rights = rightsOf(ctx.actor)
  const current = sql`${ctx.actor.organizationId}::uuid`
  const here = sql`${projects.organizationId} = ${current}`
  // In quotes, because NULL may be the key of a project.
  const literal = (value: string | undefined) => (value === undefined ? 'null' : `"${value}"`)
  const listOf = (field: keyof Candidate) => `{${candidates.map((one) => literal(one[field])).join(',')}}`
  const { rows } = await ctx.db.execute<{ place: number; id: string; team: string }>(sql`
    with w as materialized (select * from unnest(${listOf('key')}::text[], ${listOf('number')}::int[],
      ${listOf('first')}::uuid[], ${listOf('last')}::uuid[]) with ordinality w (key, number, first, last, place))
    (select distinct on (w.place) w.place::int as place, ${tasks.id} as id, ${tasks.organizationId} as team
      from w join ${projects} on ${projects.key} = w.key
      join ${tasks} on ${tasks.projectId} = ${projects.id} and ${tasks.number} = w.number
      where ${current} is not null and (${here} or ${anyOf(projects.workspaceId, rights.workspaces)})
        and ${visibleTo(rights)}
      order by w.place, ${here} desc, ${projects.createdAt})
    union all
    (select w.place::int, f.id, f.team from w cross join lateral (
      select ${tasks.id} as id, ${tasks.organizationId} as team from ${withProject}
      where ${tasks.id} between w.first and w.last
        and (w.first = w.last or ${tasks.organizationId} = ${current}) and ${visibleTo(rights)} limit 2) f
      where w.first is not null)`)
  const unique = [...Map.groupBy(rows, ({ place }) => place).values()].filter((ones) => ones.length === 1).flat()
  const own = unique.filter(({ team }) => team === organizationId)
  return new Map(own.map(({ place, id }) => [(candidates[place - 1] as Candidate).ref, id]))
}

/** A reference that names no task. */
interface WrongReference {
  task: PlannedTask
  i: number
  ref: string
}

/** Wrong references that are explained with the most similar name, which takes a search among all names. */
const MOST_EXPLAINED = 3
const MOST_POINTED_AT = 20

function wrongReferencesError(list: readonly PlannedTask[], wrong: readonly WrongReference[]): AppError {
  const names = list.flatMap((task) => [...(task.ref === undefined ? [] : [task.ref]), task.title])
  const errors = wrong
    .slice(0, MOST_POINTED_AT)
    .map((one, n) => wrongReference(one, n < MOST_EXPLAINED ? nearestTo(one.ref, names) : undefined))
  const messages = errors.slice(0, MOST_EXPLAINED).map(({ message }) => message)
  const rest = wrong.length - messages.length
  const message = [...messages, ...(rest > 0 ? [`${rest} more references are wrong.`] : [])].join(' ')
  return new AppError('invalid', message, { errors })
}

function wrongReference({ task: { title, at }, i, ref }: WrongReference, nearest: string | undefined): FieldError {
  const none = 'no task of this plan has this ref or title, and no existing task has this key.'
  const why = `${quote(title)} is blocked by ${quote(ref)}: ${none}`
  const message = nearest === undefined ? why : `${why} Did you mean ${quote(nearest)}?`
  return { pointer: `${at}/blockedBy/${i}`, code: 'unknown_task', message }
}

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** Returns the name that the reference probably means. */
function nearestTo(ref: string, names: readonly string[]): string | undefined {
  const wanted = ref.toLowerCase()
  const slips = (name: string): number => {
    const text = name.toLowerCase()
    const isPart = text.includes(wanted) || wanted.includes(text)
    return isPart ? Math.abs(text.length - wanted.length) : editDistance(text, wanted, MOST_TYPOS)
  }
  const near = names.filter((name) => isSimilar(ref, name) || isSimilar(name, ref))
  const [nearest] = near.map((name) => ({ name, slips: slips(name) })).toSorted((a, b) => a.slips - b.slips)
  return nearest?.name
}

function requireNoCircle(
  list: readonly PlannedTask[],
  pairs: readonly { task: PlannedTask; blocker: PlannedTask }[],
): void {
  const edges = pairs.map(({ task, blocker }) => ({ from: task.id, to: blocker.id }))
  const circle = findCycle(edges)
  for (const task of circle ? list.filter(({ id }) => circle.has(id)) : []) {
    const starts = edges.flatMap(({ from, to }) => (from === task.id ? [to] : []))
    const way = findPath(task.id, starts, edges)
    if (way)
      throw invalid(
        `${task.at}/blockedBy`,
        `These tasks block each other: ${circleInWords(list, [task.id, ...way])}.`,
        'cycle',
      )
  }
}

const MOST_NAMED = 10

function circleInWords(list: readonly PlannedTask[], way: readonly string[]): string {
  const titles = way.map((id) => list.find((task) => task.id === id)?.title as string)
  if (titles.length <= MOST_NAMED) return titles.join(' → ')
  return [...titles.slice(0, MOST_NAMED - 1), `… (${titles.length - MOST_NAMED} more)`, ...titles.slice(-1)].join(' → ')
}
