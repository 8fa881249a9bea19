import { Type } from '@sinclair/typebox'
import { agent, listing, budgetTokens as mostTokens, project, session, since, task } from '../../mcp/arguments.ts'
import { pick, tool } from '../../mcp/tool.ts'
import { array, bool, object, oneOf, optional, text, title } from '../../schema.ts'
import { endOrSave, getBriefContext, resumeOrSave, saveAndBrief } from './context.ts'
import { type Brief, CheckpointPatch, type Context, type SessionBrief, type SessionItem, statuses } from './schema.ts'
import * as sessions from './service.ts'

const budgetTokens = mostTokens(200)
const strings = optional(array(text(1000), 50))
const checkpoint = optional(CheckpointPatch)
/** Without the limits, examples and nulls of the REST schema, which would cost tokens in every list of tools. */
const listedAs = {
  checkpoint: object({
    nextStep: optional(text(4000)),
    files: strings,
    branch: optional(text(200)),
    commands: strings,
    checks: strings,
    openQuestions: strings,
  }),
}

const item = (session: SessionItem) =>
  pick(session, 'id', 'status', 'goals', 'agentId', 'projectId', 'taskId', 'updatedAt', 'checkpointAt')

/** Tokens of a brief, as `tokensOf` estimates them, which is more than a model counts. */
const BRIEF_TOKENS = 1000

/** A brief as lines. `cut`: a larger `budgetTokens` shows more. */
const briefLines = ({ text, left }: Brief) => ({ cut: left.length > 0, brief: text.split('\n').filter(Boolean) })

/** Parts about the project in general. An agent that resumes a task gets the first line of each as a hint. */
const projectParts = /^(Accepted decisions|Memories)$/

/**
 * Leaves out most parts that are not about the task, if the caller has one and set no budget. complete_task and
 * next_task return the ready tasks.
 */
function aboutTask({ parts, ...brief }: Brief, { budgetTokens }: { budgetTokens?: number }): Brief {
  if (budgetTokens !== undefined || !parts.some(({ title }) => title.startsWith('Your task')))
    return { parts, ...brief }
  const kept = parts
    .filter(({ title }) => !title.startsWith('Ready tasks'))
    .map((part) => (projectParts.test(part.title) ? { ...part, text: part.text.split('\n', 1).join('') } : part))
  const [head = ''] = brief.text.split('\n')
  const text = [head, ...kept.map((part) => `## ${part.title}\n${part.text}`)].join('\n')
  const left = parts.filter((part) => !kept.some(({ text }) => text === part.text)).map(({ title }) => title)
  return { ...brief, text, parts: kept, left: [...brief.left, ...left] }
}

/** What others changed while the caller worked, after it saved a checkpoint. */
const savedResult = ({ sessionId, brief: { parts } }: Context) => ({
  sessionId,
  saved: true,
  brief: parts.flatMap(({ title, text }) => [`## ${title}`, ...text.split('\n')]),
})

/** The brief contains the rest of the session. */
const briefResult = ({ id, status, takenOver, brief }: SessionBrief) => ({
  id,
  status: status === 'active' ? null : status,
  takenOver,
  ...briefLines(brief),
})

export const sessionTools = [
  tool({
    name: 'create_session',
    title: 'Create session',
    description: 'Start a work session with its goals. Returns a brief: your task, decisions, memories.',
    toolset: 'sessions',
    input: object({
      goals: optional(array(title(1000), 20)),
      context: optional(text(20_000)),
      project: optional(project),
      agent: optional(agent),
      task: optional(task),
    }),
    action: sessions.create,
    with: ({ project, agent, task, ...rest }) => ({
      ...rest,
      projectId: project,
      agentId: agent,
      taskId: task,
      budgetTokens: BRIEF_TOKENS,
    }),
    show: briefResult,
  }),
  tool({
    name: 'resume_session',
    title: 'Resume session',
    description:
      'Continue after losing context, or save a checkpoint (with checkpoint). ' +
      'Returns what you saved, task, done work, decisions, changes by others.',
    toolset: 'sessions',
    input: object({ session: optional(session), budgetTokens, checkpoint }),
    listedAs,
    action: resumeOrSave,
    with: ({ session, budgetTokens = BRIEF_TOKENS, checkpoint }) => ({ ref: session, budgetTokens, checkpoint }),
    show: (result, input) =>
      'sessionId' in result ? savedResult(result) : briefResult({ ...result, brief: aboutTask(result.brief, input) }),
  }),
  tool({
    name: 'end_session',
    title: 'End session',
    description: 'End a session; its summary and checkpoint become a memory. keep: only save the checkpoint.',
    toolset: 'sessions',
    input: object({
      session: optional(session),
      summary: optional(text(20_000)),
      checkpoint,
      keep: optional(bool()),
    }),
    listedAs: { checkpoint: Type.Unsafe<object>({ type: 'object', description: 'As in resume_session' }) },
    action: endOrSave,
    with: ({ session, ...rest }) => ({ ref: session, ...rest }),
    show: (result) => {
      if ('sessionId' in result) return savedResult(result)
      const { session, memories } = result
      const own = memories.map((memory) => ({ ...memory, createdById: session.userId }))
      return { session: session.id, status: session.status, memories: own }
    },
  }),
  tool({
    name: 'list_sessions',
    title: 'List sessions',
    description: 'List your sessions, last used first.',
    toolset: 'sessions',
    input: object({ agent: optional(agent), status: optional(oneOf(statuses)), ...listing }),
    action: sessions.list,
    with: ({ agent, ...input }) => ({ limit: 20, ...input, agentId: agent, mustExist: true, total: true }),
    show: ({ items, ...page }) => ({ items: items.map(item), ...page }),
  }),
  tool({
    name: 'get_context',
    title: 'Get context',
    description: 'Call this first. Returns a brief: your tasks, decisions, memories, changes by others.',
    toolset: 'sessions',
    input: object({ project: optional(project), session: optional(session), since, budgetTokens, checkpoint }),
    unlisted: ['checkpoint'],
    action: getBriefContext,
    writing: { fields: ['checkpoint'], action: saveAndBrief },
    with: ({ project, session, ...rest }) => ({
      budgetTokens: BRIEF_TOKENS,
      ...rest,
      projectId: project,
      sessionId: session,
    }),
    show: (context, { checkpoint }) =>
      checkpoint ? savedResult(context) : { sessionId: context.sessionId, ...briefLines(context.brief) },
  }),
]
