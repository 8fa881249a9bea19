import { type Ctx, contextOf } from '../../../src/action.ts'
import { AppError } from '../../../src/errors.ts'
import * as activity from '../../../src/features/activity/service.ts'
import * as sessions from '../../../src/features/sessions/service.ts'
import { addComment, listComments, removeComment } from '../../../src/features/tasks/comments.ts'
import { claim } from '../../../src/features/tasks/leases/leases.ts'
import { findOpenQuestions } from '../../../src/features/tasks/questions.ts'
import type { Task } from '../../../src/features/tasks/schema.ts'
import * as tasks from '../../../src/features/tasks/service.ts'
import { questions, ROUTINE, type Routine } from './routines.ts'

/** A routine, and its task where it exists. */
interface RoutineTask extends Routine {
  task?: Task
}

const LEASE_MINUTES = 20

const holds = (ctx: Ctx, { lease }: Pick<Task, 'lease'>): boolean => lease?.holder.id === ctx.actor.agent?.id
const isOthers = (ctx: Ctx, { lease, assignee }: Task): boolean =>
  (lease !== null && lease.holder.id !== ctx.actor.agent?.id) ||
  (assignee !== null && assignee.id !== ctx.actor.agent?.id)

/** Returns the routines with their tasks. Leaves out tasks that somebody else has taken. */
async function findRoutineTasks(ctx: Ctx, list: readonly Routine[]): Promise<RoutineTask[]> {
  const projectId = ctx.actor.projectId ?? undefined
  const { items } = await tasks.list(ctx, { projectId, label: ROUTINE, limit: 100 })
  const found: RoutineTask[] = []
  for (const routine of list) {
    const item = items.find(({ title }) => title === routine.title)
    const task = item && (await tasks.get(ctx, { ref: item.id }))
    if (!task || !isOthers(ctx, task)) found.push({ ...routine, task })
  }
  return found
}

/** Does the next thing of an agent's routines. Without `mayWork`, the agent only starts a task if it holds none. */
export async function playRoutines(ctx: Ctx, list: readonly Routine[], mayWork: boolean): Promise<void> {
  const all = await findRoutineTasks(ctx, list)
  const current = all.find(({ task }) => task?.status === 'in_progress' && holds(ctx, task))
  if (!current) return startNext(ctx, all)
  if (!mayWork) return
  const isCompleted = await continueRoutine(ctx, current as Required<RoutineTask>)
  if (isCompleted) await startNext(ctx, await findRoutineTasks(ctx, list))
}

/**
 * Starts an open task first, then one that does not exist yet, then the one that was closed longest ago. Continues with
 * the next one where a visitor's change, such as a blocker, prevents it.
 */
async function startNext(ctx: Ctx, all: readonly RoutineTask[]): Promise<void> {
  for (const one of all.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1)))
    try {
      return await startRoutine(ctx, one)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
}

const isClosed = ({ status }: Task): boolean => status === 'done' || status === 'cancelled'
const rankOf = ({ task }: RoutineTask): string => (!task ? ' ' : isClosed(task) ? task.updatedAt : '')

async function startRoutine(ctx: Ctx, { task, ...routine }: RoutineTask, minutes = LEASE_MINUTES): Promise<void> {
  const { id } = task ?? (await createTask(ctx, routine))
  if (task && isClosed(task)) {
    await removeOwnComments(ctx, id)
    await tasks.update(ctx, { ref: id, status: 'todo' })
  }
  await claim(ctx, { ref: id, minutes })
}

const createTask = (ctx: Ctx, { title, description, acceptance }: Routine): Promise<Task> =>
  tasks.create(ctx, {
    projectRef: ctx.actor.projectId ?? undefined,
    title,
    description,
    acceptance,
    priority: 'low',
    labels: [ROUTINE],
    assignee: ctx.actor.agent?.id,
  })

/** A task that is done again and again would otherwise collect comments. Questions stay: they may be open. */
async function removeOwnComments(ctx: Ctx, ref: string): Promise<void> {
  const { items } = await listComments(ctx, { ref, limit: 100 })
  for (const { id, author, asks } of items)
    if (!asks && author.id === ctx.actor.agent?.id) await removeComment(ctx, { ref, commentId: id })
}

/** Meets one more criterion of the task, or completes it. Returns true if it is completed. */
async function continueRoutine(ctx: Ctx, { task, ...routine }: Required<RoutineTask>): Promise<boolean> {
  const ref = task.id
  const open = task.acceptance.findIndex(({ done }) => !done)
  if (open < 0) {
    await tasks.complete(ctx, { ref, notes: routine.notes })
    return true
  }
  const acceptance = task.acceptance.map((one, i) => (i === open ? { ...one, done: true } : one))
  await tasks.update(ctx, { ref, acceptance })
  if (open === 0) await saveCheckpoint(ctx, task, routine.nextStep)
  if (open === 1) await addComment(ctx, { ref, body: routine.comment })
  if (open === 2) await activity.log(ctx, { type: 'test', description: 'All tests pass', task: ref })
  return false
}

/** Stores a checkpoint in the agent's session. Resumes its last session, or starts one, if none is active. */
async function saveCheckpoint(ctx: Ctx, { id }: Task, nextStep: string): Promise<void> {
  const save = () => sessions.checkpoint(ctx, { taskId: id, checkpoint: { nextStep } })
  try {
    await save()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await sessions.takeUpSession(ctx, {}).catch(() => sessions.start(ctx, { goals: [nextStep], taskId: id }))
    await save()
  }
}

/** Claims a task again that the agent still works on: its lease expired while nobody looked. */
export async function resumeTask(ctx: Ctx, ref: string): Promise<void> {
  const { status, lease, assignee } = await tasks.get(ctx, { ref })
  const isInWork = status === 'in_progress' || status === 'in_review'
  if (isInWork && !lease && assignee?.type === 'agent') await claim(ctx, { ref, minutes: LEASE_MINUTES })
}

/** How long a stalled agent has changed nothing, in minutes. It counts as stalled after 30. */
const STALLED_MINUTES = 45

/**
 * Lets the agent hold a task without working on it: the given one, or else one of its own. If its lease has expired, it
 * claims the task in the past, so that it is stalled at once, but never before the last change of the task.
 */
export async function stallOn(ctx: Ctx, ref: string, list: readonly Routine[]): Promise<void> {
  const given = await tasks.get(ctx, { ref }).catch(() => undefined)
  const all = await findRoutineTasks(ctx, list)
  const candidates = [given, ...all.map(({ task }) => task)].filter((task) => task !== undefined)
  if (candidates.some((task) => holds(ctx, task))) return
  const [first] = all
  if (given?.status === 'in_progress' && !isOthers(ctx, given))
    await claim(inThePast(ctx, given), { ref: given.id, minutes: STALLED_MINUTES + LEASE_MINUTES })
  else if (first) await startRoutine(inThePast(ctx, first.task), first, STALLED_MINUTES + LEASE_MINUTES)
}

/** Returns the context of a call that was made a while ago. */
function inThePast(ctx: Ctx, task?: Task): Ctx {
  const now = Date.parse(ctx.now)
  const lastChange = task ? Date.parse(task.updatedAt) + 1000 : 0
  const moment = new Date(Math.min(now, Math.max(now - STALLED_MINUTES * 60_000, lastChange)))
  return contextOf({ ...ctx.app, clock: () => moment }, ctx.actor, { connection: ctx.connection })
}

/** Asks the agent's person something, unless a question to them is open. */
export async function keepQuestionOpen(ctx: Ctx, ref: string, list: readonly Routine[]): Promise<void> {
  if ((await findOpenQuestions(ctx)).length > 0) return
  const given = await tasks.get(ctx, { ref }).catch(() => undefined)
  const all = (await findRoutineTasks(ctx, list)).map(({ task }) => task)
  const about = [given, ...all].find((task) => task && holds(ctx, task))
  if (!about) return
  const { items } = await listComments(ctx, { ref: about.id, limit: 100 })
  const asked = items.filter(({ asks }) => asks).length
  await addComment(ctx, { ref: about.id, body: questions[asked % questions.length] as string, asks: true })
}
