import { and, desc, eq, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { ownIds } from '../../auth/actor.ts'
import { AppError } from '../../errors.ts'
import { shortId } from '../../records/rows.ts'
import { fullName, type UserOrAgent } from '../../records/user-or-agent.ts'
import { quoteBlock, quoteName, quoteText } from '../../text/quoting.ts'
import { currentUserOrAgent, isSameUserOrAgent } from '../agents/users-and-agents.ts'
import { latestDecisions as lastDecisions } from '../decisions/rows.ts'
import type { MemoryHit, MemoryHits } from '../memory/schema.ts'
import * as memory from '../memory/service.ts'
import type { Project } from '../projects/schema.ts'
import type { TaskCheckpoint } from '../tasks/leases/checkpoint-schema.ts'
import { findHeldElsewhere } from '../tasks/lists/my-tasks.ts'
import { findOpenQuestions } from '../tasks/questions.ts'
import { keysInWords } from '../tasks/rows.ts'
import type { Comment, TaskDetail, TaskItem } from '../tasks/schema.ts'
import * as taskService from '../tasks/service.ts'
import { tasks } from '../tasks/table.ts'
import { users } from '../users/table.ts'
import { featuresInReview } from '../workflow/reading.ts'
import { keyRanges } from './change-groups.ts'
import { formatDay, type Part } from './pack.ts'
import type { Session } from './schema.ts'

/** The parts of a brief: one function for each. */

/** The worker that the brief is for: decides which task and which changes are its own. */
export interface Worker {
  type: 'user' | 'agent'
  id: string
  /** The credentials that it has used. */
  credentials: (string | null)[]
}

const listLine = (label: string, items: readonly string[] | undefined): string[] =>
  items?.length ? [`${label}: ${items.map((item) => quoteText(item)).join(', ')}`] : []

export function leftOffPart(session: Session): Part {
  const { goals, context, checkpoint: saved, summary } = session
  return {
    title: 'Where you left off',
    share: 8,
    fair: true,
    lines: [
      ...(saved?.nextStep ? [`Next step: ${quoteText(saved.nextStep, 2000)}`] : []),
      ...listLine('Branch', saved?.branch ? [saved.branch] : undefined),
      ...listLine('Files', saved?.files),
      ...listLine('Commands', saved?.commands),
      ...listLine('Check', saved?.checks),
      ...stateOf(session),
      ...listLine('Goals', goals),
      ...(summary ? [`Summary: ${quoteText(summary, 5000)}`] : []),
      ...(context ? [`Context, as it was when the session began:\n${quoteBlock(context)}`] : []),
    ],
  }
}

/** Says when the session was last saved. A session that has just begun has nothing to repeat. */
function stateOf({ checkpointAt, startedAt, status, version }: Session): string[] {
  const began = `the session began ${formatDay(startedAt)}`
  if (checkpointAt) return [`Saved ${formatDay(checkpointAt)}; ${began}${status === 'ended' ? ' and has ended' : ''}.`]
  return version > 1 ? [`No checkpoint was saved since ${began}. Check below what you have already done.`] : []
}

/** The task that a brief is about. `isHeld`: by the worker that the brief is for. */
export type LiveTask = TaskDetail & { isHeld: boolean }

/** `session`: the one that the brief is for; another part shows its checkpoint. */
export async function taskPart(ctx: Ctx, task: LiveTask, session: Session | undefined): Promise<Part> {
  const [author] = await ctx.db
    .select({ name: users.name })
    .from(tasks)
    .innerJoin(users, eq(users.id, tasks.createdById))
    .where(eq(tasks.id, task.id))
  const by = author ? ` (${quoteName(author.name)})` : ''
  return {
    title: `Your task: ${task.key}`,
    share: 12,
    fair: true,
    lines: [
      `${quoteText(task.title)}${by}: ${task.status}, priority ${task.priority}${task.dueAt ? `, due ${formatDay(task.dueAt)}` : ''}`,
      claimLine(task),
      ...(task.lastCheckpoint && !session?.checkpoint ? [handoverOf(task.lastCheckpoint)] : []),
      ...task.acceptance.map((a) => `- [${a.done ? 'x' : ' '}] ${quoteText(a.text)}`),
      ...(task.blockedBy.length ? [`Waits for: ${keysInWords(task.blockedBy)}`] : []),
      ...(task.frees.length ? [`Frees: ${task.frees.map((f) => f.key).join(', ')}`] : []),
      ...(task.description ? [`Description${by}:\n${quoteBlock(task.description)}`] : []),
      ...task.comments.slice(-3).map(commentLine),
    ],
  }
}

const commentLine = ({ asks, createdAt, body, author }: Comment): string =>
  `${asks ? 'Question' : 'Comment'} ${formatDay(createdAt)}: ${quoteText(body)} (${quoteName(author.name)})`

/** Returns the checkpoint of the last worker on a task, as one line. */
export function handoverOf({ author, at, nextStep, branch, files, commands, openQuestions }: TaskCheckpoint): string {
  const saved = [
    ...listLine('next step', nextStep ? [nextStep] : undefined),
    ...listLine('branch', branch ? [branch] : undefined),
    ...listLine('files', files),
    ...listLine('commands', commands),
    ...listLine('open questions', openQuestions),
  ]
  return `Handover (${fullName(author)}, ${formatDay(at)}): ${saved.join('; ')}`
}

function claimLine({ key, lease, isHeld }: LiveTask): string {
  if (!lease) return `No one holds it now. Before you continue: claim_task ${key}.`
  if (isHeld) return `Yours until ${formatDay(lease.expiresAt)}; every call renews it.`
  return `Held by ${fullName(lease.holder)} until ${formatDay(lease.expiresAt)}: leave it to them, or ask.`
}

/** Lists finished tasks, so that no one does them again. `named`: ids of tasks that another part names. */
export async function doneWorkPart(ctx: Ctx, project: Project, isNamed: ReadonlySet<string>): Promise<Part> {
  const rows = await ctx.db
    .select({ id: tasks.id, title: tasks.title, number: tasks.number, notes: tasks.completionNotes })
    .from(tasks)
    .where(and(eq(tasks.projectId, project.id), eq(tasks.status, 'done'), isNull(tasks.deletedAt)))
    .orderBy(desc(tasks.completedAt))
    .limit(MOST_DONE)
  const earlier = rows.filter(({ id }) => !isNamed.has(id))
  const keyOf = (number: number) => `${project.key}-${number}`
  return {
    title: 'Done before',
    share: 1,
    lines: [
      ...(earlier.length > MOST_TITLES ? [keyRanges(earlier.map(({ number }) => keyOf(number)))] : []),
      ...earlier
        .slice(0, MOST_TITLES)
        .map(
          ({ number, title, notes }) =>
            `- ${keyOf(number)} ${quoteText(title, 60)}${notes ? `: ${quoteText(notes, 40)}` : ''}`,
        ),
    ],
  }
}
const MOST_DONE = 100
const MOST_TITLES = 12

export async function decisionsPart(ctx: Ctx, project: Project): Promise<Part> {
  const items = await lastDecisions(ctx, project, 'accepted')
  return {
    title: 'Accepted decisions',
    share: 2,
    lines: items.map(
      (d) => `- ${quoteText(d.title, 60)}: ${quoteText(d.excerpt, 60)} (${quoteName(d.author.name)}, ${shortId(d.id)})`,
    ),
  }
}

/** The minimum score of a match. New memories have no vector yet, so a few matching words are enough for them. */
const isNearMatch = ({ score, meaning }: MemoryHit): boolean => score >= (meaning === null ? 0.01 : 0.25)

/** Refusals count as no memories: the agent of a session may be archived by now. */
const noMemories = (error: unknown): MemoryHits => {
  if (error instanceof AppError) return { items: [], mode: 'words' }
  throw error
}

export async function memoriesPart(
  ctx: Ctx,
  project: Project,
  session: Session | undefined,
  task: TaskDetail | undefined,
): Promise<Part | undefined> {
  const about = [task?.title, session?.checkpoint?.nextStep, ...(session?.goals ?? [])].filter(Boolean).join('. ')
  const query = (about || [project.name, project.description].filter(Boolean).join('. ')).slice(0, 500).toWellFormed()
  const lines: string[] = []
  const remember = (title: string | null, content: string, from: string) =>
    lines.push(`- ${title ? `${quoteText(title, 60)}: ` : ''}${quoteText(content, 80)} (${from})`)
  // Memories of the session itself are always relevant.
  const own = session ? (await memory.list(ctx, { scope: 'session', scopeId: session.id, limit: 8 })).items : []
  for (const { title, excerpt, author } of own) remember(title, excerpt, author.name)
  const places = [{ scope: 'project' as const, scopeId: project.id }]
  for (const place of session?.agentId ? [...places, { scope: 'agent' as const, scopeId: session.agentId }] : places) {
    const { items } = await memory.search(ctx, { query, ...place, limit: 8 }).catch(noMemories)
    for (const { title, content, age, origin } of items.filter(isNearMatch))
      remember(title, content, `${origin}, ${age} old`)
  }
  return { title: 'Memories', share: 2, lines }
}

/** Where a brief looks for open questions, among records that the caller may read. */
interface QuestionScope {
  session: Session | undefined
  project: Project | undefined
  tasksToo: boolean
  decisionsToo: boolean
}

export async function openQuestionsPart(ctx: Ctx, scope: QuestionScope): Promise<Part> {
  const { session, project, tasksToo, decisionsToo } = scope
  const proposed = project && decisionsToo ? await lastDecisions(ctx, project, 'proposed') : []
  const asked = tasksToo ? await findOpenQuestions(ctx, project) : []
  const mine = asked.filter(({ isMine }) => isMine)
  const me = ctx.actor.agent ? 'your person' : 'you'
  return {
    title: 'Open questions',
    share: mine.length > 0 ? 4 : 1,
    lines: [
      ...(mine.length > 0 && ctx.actor.agent
        ? ['Answer by update_task with comment, once your person has decided:']
        : []),
      ...asked.map(
        ({ key, body, author, isMine, asked }) =>
          `- ${key}, to ${isMine ? me : quoteName(asked)}: ${quoteText(body, 100)} (${quoteName(author)})`,
      ),
      ...(session?.checkpoint?.openQuestions ?? []).map((question) => `- ${quoteText(question)}`),
      ...proposed.map(
        (d) => `- To be decided: ${quoteText(d.title, 60)} (${quoteName(d.author.name)}, ${shortId(d.id)})`,
      ),
    ],
  }
}

/** Lists the tasks that others work on, so that no one starts them again. */
export async function heldByOthersPart(ctx: Ctx, project: Project, own: TaskDetail | undefined): Promise<Part> {
  const held = await findHeldElsewhere(ctx, project.id)
  const others = held.filter(({ id }) => id !== own?.id)
  const holderOf = (holder: UserOrAgent) =>
    isSameUserOrAgent(holder, currentUserOrAgent(ctx)) ? 'you, in another window' : fullName(holder)
  return {
    title: 'Held by others',
    share: 1,
    lines: others.map(({ key, title, lease }) => {
      const until = lease ? `: ${holderOf(lease.holder)} until ${formatDay(lease.expiresAt)}` : ''
      return `- ${key} ${quoteText(title, 40)}${until}`
    }),
  }
}

export async function inReviewPart(ctx: Ctx, project: Project): Promise<Part> {
  const items = await featuresInReview(ctx, project)
  return {
    title: 'Features in review',
    share: 1,
    lines: items.map(({ id, title }) => `- ${quoteText(title, 60)} (${shortId(id)})`),
  }
}

export async function readyTasksPart(ctx: Ctx, project: Project, own: TaskDetail | undefined): Promise<Part> {
  const { items } = await taskService.list(ctx, {
    projectId: project.id,
    ready: true,
    limit: 10,
  })
  const others = items.filter(({ id }) => id !== own?.id)
  return { title: `Ready tasks in ${project.key}`, share: 1, lines: others.map((task) => readyLine(ctx, task)) }
}

/** Names the assignee if it is someone else: the task is not for the caller. */
function readyLine({ actor }: Ctx, { key, title, priority, assignee }: TaskItem): string {
  const isForOther = assignee && !ownIds(actor).includes(String(assignee.id))
  const facts = [priority !== 'medium' && priority, isForOther && `for ${quoteName(assignee.name)}`].filter(Boolean)
  return `- ${key} ${quoteText(title, 60)}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
}
