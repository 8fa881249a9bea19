import type { Context, Session, SessionBrief, SessionEnded, SessionItem } from '../../src/features/sessions/schema.ts'
import { at, query } from '../api/reference.ts'
import { ago, paragraphs, record } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { type Call, count, json, many, reference, shown, text, time, type Verb } from './noun.ts'
import { listed, type Page, pages, paging, sorting } from './resource.ts'

const budget = count('--budget <tokens>', 'about how long the brief may be', 'budgetTokens')
const state = [
  text('--next-step <text>', 'what comes next; - reads it from standard input'),
  many('--file <path>', 'a file in hand', 'files'),
  text('--branch <name>', 'the branch'),
  many('--command <command>', 'a command that is needed', 'commands'),
  many('--check <text>', 'what has been checked', 'checks'),
  many('--question <text>', 'an open question', 'openQuestions'),
  json('--checkpoint <json>', 'all of it at once'),
]
const brief = (value: SessionBrief | Context) => shown(value, ...paragraphs(value.brief.text))

/** The one that is named, or the one last used, of the linked project where there is one. */
async function sessionOf({ client, args: [named], inProject }: Call, open: 'open' | 'any' = 'open'): Promise<string> {
  if (named) return named
  const { items } = await client.get<Page<SessionItem>>(query('/api/sessions', { ...(await inProject()), limit: 20 }))
  const found = items.find((s) => open === 'any' || s.status !== 'ended')
  if (!found) throw new Refusal('You have no open session here. Begin one: tutti sessions start', 4)
  return found.id
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your sessions, last used first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--status <status>', 'active, paused or ended'),
      reference('--agent <agent>', 'only those of this agent', '/api/agents', 'agentId'),
      ...sorting('updatedAt', 'startedAt'),
      ...paging,
    ],
    examples: ['tutti sessions list', 'tutti sessions list --status active'],
    run: async ({ client, fields, inProject }) =>
      listed(
        await pages<SessionItem>(client, '/api/sessions', { ...fields, ...(await inProject()) }),
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
    args: '[session]',
    about: 'Show a session and what was saved last, the last one unless told',
    inProject: true,
    examples: ['tutti sessions show', 'tutti sessions show 019a8a7e-5c1f'],
    run: async (call) => {
      const s = await call.client.get<Session>(at('/api/sessions/:id', await sessionOf(call, 'any')))
      return shown(
        s,
        ...record(
          {
            Session: s.id,
            Status: s.status,
            Goals: s.goals.join('; '),
            Begun: ago(s.startedAt),
            Saved: s.checkpointAt && ago(s.checkpointAt),
            'Next step': s.checkpoint?.nextStep,
            Branch: s.checkpoint?.branch,
            Files: s.checkpoint?.files?.join(', '),
            Commands: s.checkpoint?.commands?.join('; '),
            Checked: s.checkpoint?.checks?.join('; '),
            Open: s.checkpoint?.openQuestions?.join('; '),
          },
          s.summary ?? s.context,
        ),
      )
    },
  },
  {
    name: 'start',
    about: 'Begin a stretch of work; prints what there is to know',
    aliases: ['create'],
    inProject: true,
    fields: [
      many('-g, --goal <text>', 'what you want to reach', 'goals'),
      text('--context <text>', 'what else is to know; - reads it from standard input'),
      text('--task <task>', 'the task', { as: 'taskId' }),
      text('--agent <agent>', 'the agent', { as: 'agentId' }),
    ],
    examples: ['tutti sessions start -g "Lock the folder" --task TUT-42'],
    run: async ({ client, fields, inProject }) =>
      brief(await client.post<SessionBrief>('/api/sessions', { ...fields, ...(await inProject()) })),
  },
  {
    name: 'resume',
    args: '[session]',
    about: 'Go on with a session, the last one unless told; prints what there is to know',
    inProject: true,
    fields: [budget],
    examples: ['tutti sessions resume', 'tutti sessions resume 019a8a7e-5c1f --budget 1000'],
    run: async (call) =>
      brief(
        await call.client.post<SessionBrief>(at('/api/sessions/:id/resume', await sessionOf(call, 'any')), call.fields),
      ),
  },
  {
    name: 'context',
    about: 'Print what there is to know before going on',
    inProject: true,
    fields: [budget, time('--since <time>', 'what changed after this')],
    examples: ['tutti sessions context --since 2027-01-31'],
    run: async ({ client, fields, inProject }) =>
      brief(await client.get<Context>(query('/api/context', { ...fields, ...(await inProject()) }))),
  },
  {
    name: 'checkpoint',
    args: '[session]',
    about: 'Save where you are, in the last session unless told',
    aliases: ['save'],
    inProject: true,
    fields: [...state, text('--task <task>', 'the task at hand', { as: 'taskId' })],
    examples: ['tutti sessions checkpoint --next-step "Write the test" --branch lock'],
    run: async (call) => {
      const { checkpoint, taskId, ...parts } = call.fields
      const saved = { ...(checkpoint as object | undefined), ...parts }
      if (Object.keys(saved).length === 0) throw new Refusal('Nothing to save. Say at least --next-step <text>')
      const path = at('/api/sessions/:id/checkpoint', await sessionOf(call))
      return shown(
        await call.client.post(path, { checkpoint: saved, ...(taskId !== undefined && { taskId }) }),
        'Saved.',
      )
    },
  },
  {
    name: 'end',
    args: '[session]',
    about: 'End a session, the last one unless told; its summary goes to memory',
    inProject: true,
    fields: [text('-m, --summary <text>', 'what was reached; - reads it from standard input')],
    examples: ['tutti sessions end -m "The folder is locked"'],
    run: async (call) => {
      const ended = await call.client.post<SessionEnded>(
        at('/api/sessions/:id/end', await sessionOf(call)),
        call.fields,
      )
      return shown(
        ended,
        `Ended, and ${ended.memories.length === 1 ? 'one memory' : `${ended.memories.length} memories`} written.`,
      )
    },
  },
]
