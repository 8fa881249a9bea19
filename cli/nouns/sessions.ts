import type { Context, Session, SessionBrief, SessionEnded, SessionItem } from '../../src/features/sessions/schema.ts'
import type { Timeline } from '../../src/features/sessions/timeline-schema.ts'
import { fullName } from '../../src/records/user-or-agent.ts'
import { pathTo, withQuery } from '../api/reference.ts'
import { paragraphLines, recordLines } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { timeAgo } from '../terminal/times.ts'
import { type Call, choice, count, json, many, outputOf, reference, text, time, type Verb } from './noun.ts'
import { emptyMessage, fetchPages, listOutput, openOnly, type Page, sorting, workPaging } from './resource.ts'

const budget = count('--budget <tokens>', 'approximate length of the brief', 'budgetTokens')
const state = [
  text('--next-step <text>', 'next step; "-" reads standard input'),
  many('--file <path>', 'file being worked on', 'files'),
  text('--branch <name>', 'branch'),
  many('--command <command>', 'command to remember', 'commands'),
  many('--check <text>', 'what has been verified', 'checks'),
  many('--question <text>', 'open question', 'openQuestions'),
  json('--checkpoint <json>', 'the whole checkpoint as one JSON object'),
]
const briefOutput = (value: SessionBrief | Context) => outputOf(value, ...paragraphLines(value.brief.text))

/** Returns the session that is named, or the last used one, in the linked project if there is one. */
async function findSessionId(
  { client, args: [named], inProject }: Call,
  open: 'open' | 'any' = 'open',
): Promise<string> {
  if (named) return named
  const { items } = await client.get<Page<SessionItem>>(
    withQuery('/api/sessions', { ...(await inProject()), limit: 20 }),
  )
  const found = items.find((s) => open === 'any' || s.status !== 'ended')
  if (!found) throw new Refusal('You have no open session here. Start one: tutti sessions start', 4)
  return found.id
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your open sessions, last used first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      choice('--status <status>', ['active', 'paused', 'ended']),
      reference('--agent <agent>', 'only sessions of this agent', '/api/agents', 'agentId'),
      ...sorting('updatedAt', 'startedAt'),
      ...workPaging,
    ],
    examples: ['tutti sessions list', 'tutti sessions list --all'],
    run: async ({ client, fields, inProject }) =>
      listOutput(
        await fetchPages<SessionItem>(client, '/api/sessions', { ...openOnly(fields), ...(await inProject()) }),
        [
          { title: 'Id', of: (s) => s.id.slice(0, 13) },
          { title: 'Status', of: (s) => s.status },
          { title: 'Goal', of: (s) => s.goals[0], wide: true },
          { title: 'Last used', of: (s) => timeAgo(s.updatedAt) },
        ],
        emptyMessage('sessions', fields),
      ),
  },
  {
    name: 'show',
    args: '[session]',
    about: 'Show a session and its last checkpoint (default: the last session)',
    inProject: true,
    examples: ['tutti sessions show', 'tutti sessions show 019a8a7e-5c1f'],
    run: async (call) => {
      const s = await call.client.get<Session>(pathTo('/api/sessions/:id', await findSessionId(call, 'any')))
      return outputOf(
        s,
        ...recordLines(
          {
            Session: s.id,
            Status: s.status,
            Goals: s.goals.join('; '),
            Started: timeAgo(s.startedAt),
            Saved: s.checkpointAt && timeAgo(s.checkpointAt),
            'Next step': s.checkpoint?.nextStep,
            Branch: s.checkpoint?.branch,
            Files: s.checkpoint?.files?.join(', '),
            Commands: s.checkpoint?.commands?.join('; '),
            Verified: s.checkpoint?.checks?.join('; '),
            Questions: s.checkpoint?.openQuestions?.join('; '),
          },
          s.summary ?? s.context,
        ),
      )
    },
  },
  {
    name: 'replay',
    args: '[session]',
    about: 'Show every change of a session, oldest first (default: the last session)',
    inProject: true,
    examples: ['tutti sessions replay', 'tutti sessions replay 019a8a7e-5c1f'],
    run: async (call) => {
      const replay = await call.client.get<Timeline>(
        pathTo('/api/sessions/:id/timeline', await findSessionId(call, 'any')),
      )
      return {
        ...listOutput(
          { items: replay.events, nextCursor: null },
          [
            { title: 'When', of: (e) => timeAgo(e.at) },
            { title: 'Who', of: (e) => fullName(e.actor) },
            { title: 'What', of: (e) => e.description, wide: true },
            { title: 'Line', of: (e) => e.line },
          ],
          'No changes in this session yet.',
        ),
        value: replay,
      }
    },
  },
  {
    name: 'start',
    about: 'Start a session; prints a brief',
    aliases: ['create'],
    inProject: true,
    fields: [
      many('-g, --goal <text>', 'goal', 'goals'),
      text('--context <text>', 'further context; "-" reads standard input'),
      text('--task <task>', 'task to work on', { as: 'taskId' }),
      text('--agent <agent>', 'agent that does the work', { as: 'agentId' }),
    ],
    examples: ['tutti sessions start -g "Lock the folder" --task TUT-42'],
    run: async ({ client, fields, inProject }) =>
      briefOutput(await client.post<SessionBrief>('/api/sessions', { ...fields, ...(await inProject()) })),
  },
  {
    name: 'resume',
    args: '[session]',
    about: 'Resume a session (default: the last one); prints a brief',
    inProject: true,
    fields: [budget],
    examples: ['tutti sessions resume', 'tutti sessions resume 019a8a7e-5c1f --budget 1000'],
    run: async (call) =>
      briefOutput(
        await call.client.post<SessionBrief>(
          pathTo('/api/sessions/:id/resume', await findSessionId(call, 'any')),
          call.fields,
        ),
      ),
  },
  {
    name: 'context',
    about: 'Print the brief that a session starts with, without starting one',
    inProject: true,
    fields: [budget, time('--since <time>', 'include changes after this time')],
    examples: ['tutti sessions context --since 2027-01-31'],
    run: async ({ client, fields, inProject }) =>
      briefOutput(await client.get<Context>(withQuery('/api/context', { ...fields, ...(await inProject()) }))),
  },
  {
    name: 'checkpoint',
    args: '[session]',
    about: 'Save a checkpoint (default: in the last session)',
    aliases: ['save'],
    inProject: true,
    fields: [...state, text('--task <task>', 'current task', { as: 'taskId' })],
    examples: ['tutti sessions checkpoint --next-step "Write the test" --branch lock'],
    run: async (call) => {
      const { checkpoint, taskId, ...parts } = call.fields
      const saved = { ...(checkpoint as object | undefined), ...parts }
      if (Object.keys(saved).length === 0) throw new Refusal('Nothing to save. Use at least --next-step <text>')
      const path = pathTo('/api/sessions/:id/checkpoint', await findSessionId(call))
      return outputOf(
        await call.client.post(path, { checkpoint: saved, ...(taskId !== undefined && { taskId }) }),
        'Checkpoint saved.',
      )
    },
  },
  {
    name: 'end',
    args: '[session]',
    about: 'End a session (default: the last one); its summary becomes a memory',
    inProject: true,
    fields: [text('-m, --summary <text>', 'what was achieved; "-" reads standard input')],
    examples: ['tutti sessions end -m "The folder is locked"'],
    run: async (call) => {
      const ended = await call.client.post<SessionEnded>(
        pathTo('/api/sessions/:id/end', await findSessionId(call)),
        call.fields,
      )
      return outputOf(
        ended,
        `Session ended. ${ended.memories.length === 1 ? '1 memory' : `${ended.memories.length} memories`} stored.`,
      )
    },
  },
]
