import type { SessionBrief, SessionEnded, SessionItem } from '../../src/features/sessions/schema.ts'
import {
  at,
  type Call,
  count,
  json,
  listed,
  many,
  type Page,
  paging,
  projectId,
  query,
  record,
  shown,
  text,
  time,
  type Verb,
} from '../noun.ts'
import { ago, paragraphs } from '../output.ts'
import { Refusal } from '../report.ts'

const budget = count('--budget <tokens>', 'about how long the brief may be', 'budgetTokens')
const state = [
  text('--next-step <text>', 'what comes next; - reads it from standard input'),
  many('--file <path>', 'a file in hand', 'files'),
  text('--branch <name>', 'the branch'),
  many('--command <command>', 'a command that is needed', 'commands'),
  many('--check <text>', 'what has been checked', 'checks'),
  many('--question <text>', 'an open question', 'openQuestions'),
]
const brief = (value: SessionBrief) => shown(value, ...paragraphs(value.brief.text))
const resolved = async ({ client, project }: Call) => {
  const named = await project()
  return named ? { projectId: await projectId(client, named) } : {}
}
/** The one that is named, or the one last used. */
async function sessionOf({ client, args: [named] }: Call): Promise<string> {
  if (named) return named
  const { items } = await client.get<Page<SessionItem>>('/api/sessions?limit=1')
  if (!items[0]) throw new Refusal('You have no session yet. Begin one: tutti sessions start', 4)
  return items[0].id
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your sessions, last used first',
    aliases: ['ls'],
    inProject: true,
    fields: [text('--status <status>', 'active, paused or ended'), ...paging],
    run: async (call) =>
      listed(
        await call.client.get<Page<SessionItem>>(query('/api/sessions', { ...call.fields, ...(await resolved(call)) })),
        [
          { title: 'Id', of: (s) => s.id.slice(0, 13) },
          { title: 'Status', of: (s) => s.status },
          { title: 'Goal', of: (s) => s.goals[0], wide: true },
          { title: 'Last used', of: (s) => ago(s.updatedAt) },
        ],
        'No sessions.',
      ),
  },
  {
    name: 'show',
    args: '<session>',
    about: 'Show one',
    run: async ({ client, args }) => {
      const s = await client.get<SessionItem & { summary: string | null }>(at('/api/sessions/:id', ...args))
      return shown(s, ...record({ Session: s.id, Status: s.status, Goals: s.goals.join('; '), Begun: ago(s.startedAt) }, s.summary))
    },
  },
  {
    name: 'start',
    about: 'Begin a stretch of work; prints what there is to know',
    aliases: ['create'],
    inProject: true,
    fields: [
      many('-g, --goal <text>', 'what you want to reach', 'goals'),
      text('--context <text>', 'what else is to know'),
      text('--task <task>', 'the task', { as: 'taskId' }),
      text('--agent <agent>', 'the agent', { as: 'agentId' }),
    ],
    run: async (call) => brief(await call.client.post<SessionBrief>('/api/sessions', { ...call.fields, ...(await resolved(call)) })),
  },
  {
    name: 'resume',
    args: '[session]',
    about: 'Go on with a session, the last one unless told; prints what there is to know',
    fields: [budget],
    run: async (call) => brief(await call.client.post<SessionBrief>(at('/api/sessions/:id/resume', await sessionOf(call)), call.fields)),
  },
  {
    name: 'context',
    about: 'Print what there is to know before going on',
    inProject: true,
    fields: [budget, time('--since <time>', 'what changed after this')],
    run: async (call) => brief(await call.client.get<SessionBrief>(query('/api/context', { ...call.fields, ...(await resolved(call)) }))),
  },
  {
    name: 'checkpoint',
    args: '[session]',
    about: 'Save where you are',
    aliases: ['update'],
    fields: [...state, json('--checkpoint <json>', 'all of it at once')],
    run: async (call) => {
      const { checkpoint, ...parts } = call.fields
      const path = at('/api/sessions/:id/checkpoint', await sessionOf(call))
      return shown(await call.client.post(path, { checkpoint: { ...(checkpoint as object | undefined), ...parts } }), 'Saved.')
    },
  },
  {
    name: 'end',
    args: '[session]',
    about: 'End a session; its summary goes to memory',
    fields: [text('-m, --summary <text>', 'what was reached; - reads it from standard input')],
    run: async (call) => {
      const ended = await call.client.post<SessionEnded>(at('/api/sessions/:id/end', await sessionOf(call)), call.fields)
      return shown(ended, `Ended, and ${ended.memories.length === 1 ? 'one memory' : `${ended.memories.length} memories`} written.`)
    },
  },
]
