import { type TSchema, Type } from '@sinclair/typebox'
import {
  array,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  openFilter,
  optional,
  pageOf,
  paging,
  recordFields,
  type Static,
  TimesInText,
  text,
  time,
  title,
} from '../../schema.ts'
import { agentFilter } from '../agents/schema.ts'
import { projectFilter } from '../projects/schema.ts'

export const statuses = ['active', 'paused', 'ended'] as const
const list = (example: string) => optional(array(title(1000, { example }), 50))

/** The state that a worker without any other context needs to continue. */
export const Checkpoint = object({
  nextStep: optional(text(4000, { example: 'Make the second process exit with a clear line' })),
  files: list('src/db/lock.ts'),
  branch: optional(text(200, { example: 'lock-folder' })),
  commands: list('bun test test/db'),
  checks: list('a second process is refused'),
  openQuestions: list('What about network file systems?'),
})
export type Checkpoint = Static<typeof Checkpoint>

const clearable = <T extends TSchema>(field: T) => optional(nullable(field))
const { nextStep, files, branch, commands, checks, openQuestions } = Checkpoint.properties
/** Changes a checkpoint: fields that are not named stay, and null clears one. */
export const CheckpointPatch = object(
  {
    nextStep: clearable(nextStep),
    files: clearable(files),
    branch: clearable(branch),
    commands: clearable(commands),
    checks: clearable(checks),
    openQuestions: clearable(openQuestions),
  },
  { description: 'Fields that are left out keep their values; null clears one' },
)
export type CheckpointPatch = Static<typeof CheckpointPatch>

const goals = array(title(1000, { example: 'Lock the data folder' }), 20)
const context = text(20_000, { example: 'Two servers on one folder damaged a database last week.' })

export const Session = object({
  ...recordFields,
  organizationId: id(),
  userId: id(),
  agentId: nullable(id()),
  projectId: nullable(id()),
  taskId: nullable(id()),
  status: oneOf(statuses),
  goals,
  context: nullable(context),
  checkpoint: nullable(Checkpoint),
  checkpointAt: nullable(instant()),
  summary: nullable(text(20_000)),
  startedAt: instant(),
  endedAt: nullable(instant()),
})
export type Session = Static<typeof Session>
const { context: _, checkpoint: __, summary: ___, ...item } = Session.properties
export const SessionItem = object(item)
export type SessionItem = Static<typeof SessionItem>
export const SessionPage = pageOf(SessionItem)
export type SessionPage = Static<typeof SessionPage>

const ref = (what: string, example: string) =>
  text(100, { minLength: 1, description: `${what}: id, slug, key or id prefix`, example })
export const SessionCreate = object({
  goals: optional(goals),
  context: optional(context),
  projectId: optional(ref('Project', 'tutti')),
  agentId: optional(ref('Agent', 'builder')),
  taskId: optional(ref('Task', 'TUT-42')),
})
export type SessionCreate = Static<typeof SessionCreate>

const budgetTokens = optional(int({ min: 200, max: 50_000, description: 'Maximum tokens of the brief. Default: 4000' }))
export const SessionResume = object({ budgetTokens })
export const SessionCheckpoint = object({ checkpoint: CheckpointPatch, taskId: optional(ref('Task', 'TUT-42')) })
export type SessionCheckpoint = Static<typeof SessionCheckpoint>
export const SessionEnd = object({ summary: optional(text(20_000)), checkpoint: optional(CheckpointPatch) })
export type SessionEnd = Static<typeof SessionEnd>
export const SessionQuery = object({
  ...paging('updatedAt', 'startedAt'),
  status: optional(oneOf(statuses)),
  open: openFilter,
  agentId: agentFilter,
  projectId: projectFilter,
})
export type SessionQuery = Static<typeof SessionQuery>

/** Everything needed to continue, most important first. */
export const Brief = object({
  text: text(300_000, { description: 'Markdown. Text by users is quoted in « » or after >, with its author' }),
  tokens: int({ description: 'Upper bound of its tokens (o200k)', example: 1800 }),
  parts: Type.Array(
    object({
      title: text(200, { example: 'Memories' }),
      times: optional(TimesInText),
      tokens: int({ example: 480 }),
      text: text(300_000),
    }),
    {
      description: 'The parts of the text, in its order, and what each costs',
    },
  ),
  left: Type.Array(text(100, { example: 'What changed' }), {
    description: 'Parts that were shortened or did not fit',
  }),
})
export type Brief = Static<typeof Brief>
/** Without its texts, which the brief contains: they would cost tokens twice. */
const { goals: ____, ...head } = item
export const SessionBrief = object({
  ...head,
  brief: Brief,
  takenOver: optional(
    text(200, {
      description: 'Set if the session was active on another connection when you resumed it',
      example: 'It was active on another connection of this token, which has no open stream.',
    }),
  ),
})
export type SessionBrief = Static<typeof SessionBrief>
export const Context = object({ sessionId: nullable(id()), projectId: nullable(id()), brief: Brief })
export type Context = Static<typeof Context>
export const SessionEnded = object({
  session: Session,
  memories: Type.Array(object({ id: id(), title: nullable(text(200)) })),
})
export type SessionEnded = Static<typeof SessionEnded>

export const ContextQuery = object({
  projectId: optional(ref('Project', 'tutti')),
  sessionId: optional(ref('Session', '019a8a7e')),
  since: optional(time({ description: 'Lists changes after this time. Default: since the last checkpoint' })),
  budgetTokens,
})
export type ContextQuery = Static<typeof ContextQuery>
