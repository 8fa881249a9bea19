import type { Ctx } from '../../action.ts'
import { AppError, type FieldError, invalid } from '../../errors.ts'
import { circleIn, wayTo } from '../../records/cycles.ts'
import { distance, isNear } from '../../text/near.ts'
import type { Project } from '../projects/schema.ts'
import { findBlockers } from '../tasks/dependencies/dependencies.ts'

/** What the tasks of a plan wait for: other tasks of the plan, by ref or title, or existing tasks, by key or id. */

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

/** Resolves all references. An error names every wrong one, or tasks that wait for each other in a circle. */
export async function dependenciesOf(
  ctx: Ctx,
  { organizationId }: Project,
  list: readonly PlannedTask[],
): Promise<PlanDependencies> {
  if (list.reduce((sum, { blockedBy }) => sum + blockedBy.length, 0) > MOST)
    throw invalid('/epics', 'A plan can have at most 2,000 dependencies.', 'too_many')
  const named = namesOf(list)
  const unknown = new Set(list.flatMap(({ blockedBy }) => blockedBy.filter((ref) => !named(ref))))
  const existing = await existingTasks(ctx, organizationId, unknown)
  const wrong: FieldError[] = []
  const inPlan: { task: PlannedTask; blocker: PlannedTask }[] = []
  const onExisting: { taskId: string; blockedById: string }[] = []
  for (const task of list)
    for (const [i, ref] of task.blockedBy.entries()) {
      const blocker = named(ref)
      const id = existing.get(ref)
      if (blocker) inPlan.push({ task, blocker })
      else if (id) onExisting.push({ taskId: task.id, blockedById: id })
      else wrong.push(wrongReference(list, task, i, ref))
    }
  if (wrong.length > 0) throw refusalOf(wrong)
  requireNoCircle(list, inPlan)
  const within = inPlan.map(({ task, blocker }) => ({ taskId: task.id, blockedById: blocker.id }))
  return { dependencies: [...within, ...onExisting], existing: [...new Set(existing.values())] }
}

/** Returns a function that finds a task of the plan by its ref, else by its title. Refs must be unique. */
function namesOf(list: readonly PlannedTask[]): (ref: string) => PlannedTask | undefined {
  const byRef = new Map<string, PlannedTask>()
  for (const task of list) {
    if (task.ref === undefined) continue
    if (byRef.has(task.ref))
      throw invalid(`${task.at}/ref`, `Two tasks have the ref ${JSON.stringify(task.ref)}. Give each its own.`)
    byRef.set(task.ref, task)
  }
  const byTitle = Map.groupBy(list, ({ title }) => title.toLowerCase())
  return (ref) => {
    const alike = byTitle.get(ref.trim().toLowerCase()) ?? []
    return byRef.get(ref) ?? (alike.length === 1 ? alike[0] : undefined)
  }
}

/** Returns the ids of the tasks that exist, by the references that name them. */
async function existingTasks(
  ctx: Ctx,
  organizationId: string,
  refs: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const ref of refs)
    try {
      const [id] = await findBlockers(ctx, organizationId, [ref])
      if (id) found.set(ref, id)
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
    }
  return found
}

function wrongReference(list: readonly PlannedTask[], { title, at }: PlannedTask, i: number, ref: string): FieldError {
  const names = list.flatMap((task) => [...(task.ref === undefined ? [] : [task.ref]), task.title])
  const [nearest] = names
    .filter((name) => isNear(ref, name) || isNear(name, ref))
    .toSorted((a, b) => distance(a, ref) - distance(b, ref))
  const why = `${quote(title)} is blocked by ${quote(ref)}: no task of this plan has that ref or title, and no task that key.`
  const message = nearest === undefined ? why : `${why} Did you mean ${quote(nearest)}?`
  return { pointer: `${at}/blockedBy/${i}`, code: 'unknown_task', message }
}

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

const MOST_EXPLAINED = 3

function refusalOf(wrong: readonly FieldError[]): AppError {
  const messages = wrong.slice(0, MOST_EXPLAINED).map(({ message }) => message)
  const rest = wrong.length - messages.length
  const message = [...messages, ...(rest > 0 ? [`${rest} more references are wrong.`] : [])].join(' ')
  return new AppError('invalid', message, { errors: wrong.slice(0, 20) })
}

function requireNoCircle(
  list: readonly PlannedTask[],
  pairs: readonly { task: PlannedTask; blocker: PlannedTask }[],
): void {
  const edges = pairs.map(({ task, blocker }) => ({ from: task.id, to: blocker.id }))
  const circle = circleIn(edges)
  for (const task of circle ? list.filter(({ id }) => circle.has(id)) : []) {
    const starts = edges.flatMap(({ from, to }) => (from === task.id ? [to] : []))
    const way = wayTo(task.id, starts, edges)
    if (way)
      throw invalid(
        `${task.at}/blockedBy`,
        `These tasks block each other: ${inWords(list, [task.id, ...way])}.`,
        'cycle',
      )
  }
}

const MOST_NAMED = 10

function inWords(list: readonly PlannedTask[], way: readonly string[]): string {
  const titles = way.map((id) => list.find((task) => task.id === id)?.title as string)
  if (titles.length <= MOST_NAMED) return titles.join(' → ')
  return [...titles.slice(0, MOST_NAMED - 1), `… (${titles.length - MOST_NAMED} more)`, ...titles.slice(-1)].join(' → ')
}
