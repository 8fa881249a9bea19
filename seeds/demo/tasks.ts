import type { Ctx } from '../../src/action.ts'
import { addComment } from '../../src/features/tasks/comments.ts'
import { claim } from '../../src/features/tasks/leases/leases.ts'
import * as tasks from '../../src/features/tasks/service.ts'
import type { Priority } from '../../src/records/task-states.ts'
import { ago, dueIn, isAgent, type Person, people, type Stage, type Step, type Who } from './script.ts'

/** A task as the data files write it. Its number is its place in the project's list. */
export interface TaskRow {
  title: string
  story: string
  /** How many days ago it was created, and by whom (default: Ada). */
  day: number
  by?: Person
  text?: string
  priority?: Priority
  labels?: string[]
  points?: number
  assignee?: Who
  /** Days after the start of the demo. */
  due?: number
  acceptance?: string[]
  /** Numbers of the tasks that must be closed first. */
  after?: number[]
  /** The number of the task that it is a part of. */
  part?: number
  backlog?: true
  done?: Completion
  cancelled?: { day: number; why: string }
}

interface Completion {
  day: number
  by: Who
  notes: string
  evidence?: string[]
}

export type Rest = Omit<TaskRow, 'title' | 'story' | 'day'>
export const task = (title: string, story: string, day: number, rest: Rest = {}): TaskRow => ({
  title,
  story,
  day,
  ...rest,
})

/** A completed task: who did it, how many days ago, and what they said. */
export const done = (by: Who, day: number, notes: string, ...evidence: string[]): Pick<TaskRow, 'done'> => ({
  done: { by, day, notes, evidence },
})

/** Returns the steps that create the tasks and, where they are closed, work on them. */
export const stepsOf = (project: { slug: string; key: string }, rows: readonly TaskRow[]): Step[] =>
  rows.flatMap((row, i) => lifeOf(project.slug, `${project.key}-${i + 1}`, row, i))

/** Spreads the work of a day over its hours, always in the same way. */
const clock = (start: number, minutes: number): string => {
  const at = start * 60 + minutes
  return `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`
}

function lifeOf(slug: string, key: string, row: TaskRow, i: number): Step[] {
  const { by = 'ada', day, done: end, cancelled } = row
  // Numbers follow the order of creation, so a later row of the same day must have a later time.
  const steps: Step[] = [{ at: ago(day, clock(11, i)), by, run: (ctx, stage) => create(ctx, stage, slug, row, key) }]
  if (end) {
    const morning = (i * 37) % 110
    steps.push(
      { at: ago(end.day, clock(12, 30 + (i % 20))), by: end.by, run: (ctx) => begin(ctx, key, end) },
      { at: ago(end.day, clock(14, morning)), by: end.by, run: (ctx) => finish(ctx, key, end, row) },
    )
  }
  if (cancelled)
    steps.push({
      at: ago(cancelled.day, clock(16, i)),
      by: 'ada',
      run: async (ctx) => {
        await addComment(ctx, { ref: key, body: cancelled.why })
        await tasks.update(ctx, { ref: key, status: 'cancelled' })
      },
    })
  return steps
}

async function create(ctx: Ctx, stage: Stage, slug: string, row: TaskRow, key: string): Promise<void> {
  const { assignee, due } = row
  const [prefix] = key.split('-')
  const made = await tasks.create(ctx, {
    projectRef: slug,
    title: row.title,
    description: row.text,
    storyId: stage.id(`story ${row.story}`),
    priority: row.priority,
    labels: row.labels,
    estimate: row.points,
    acceptance: row.acceptance,
    blockedBy: row.after?.map((n) => `${prefix}-${n}`),
    ...(row.part && { parentId: stage.id(`${prefix}-${row.part}`) }),
    ...(assignee && { assignee: isAgent(assignee) ? stage.id(assignee) : people[assignee].email }),
    ...(due !== undefined && { dueAt: dueIn(stage, due) }),
    ...(row.backlog && { status: 'backlog' as const }),
  })
  if (made.key !== key) throw new Error(`The demo created ${made.key} where it expected ${key}.`)
  stage.keep(key, made.id)
}

const begin = (ctx: Ctx, key: string, { by }: Completion): Promise<unknown> =>
  isAgent(by)
    ? claim(ctx, { ref: key, minutes: 240 })
    : tasks.update(ctx, { ref: key, status: 'in_progress', assignee: 'me' })

async function finish(ctx: Ctx, key: string, { notes, evidence }: Completion, row: TaskRow): Promise<void> {
  if (row.acceptance)
    await tasks.update(ctx, { ref: key, acceptance: row.acceptance.map((text) => ({ text, done: true })) })
  await tasks.complete(ctx, { ref: key, notes, evidence })
}
