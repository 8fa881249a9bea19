import type { Args, Call } from './reader.ts'

/** What an agent finds that makes the wrong calls: references to records that exist. */
export interface World {
  project: string
  /** The key of a second project. */
  other: string
  /** The key of a project that was archived. */
  archived: string
  /** A task that anybody may take. */
  open: string
  /** A task with two open criteria. */
  criteria: string
  /** A task that waits for another one. */
  waiting: string
  /** A task that the agent of somebody else holds. */
  held: string
  /** A task that this token holds on another connection. */
  elsewhere: string
  /** A session that has ended. */
  ended: string
  /** A task of another team. */
  foreign: string
}

export interface WrongCall {
  /** What is wrong with it. */
  name: string
  call(world: World): Call
  /** Values that the agent can give when it is asked for them. */
  knows?: (world: World) => Args
  /** The tool that must succeed next. Default: the same one. */
  next?: string
}

const title = 'Lock the data folder'
const content = 'Nightly dumps go to the second disk.'

const wrong = (
  name: string,
  tool: string,
  args: (world: World) => Args,
  more: Pick<WrongCall, 'knows' | 'next'> = {},
): WrongCall => ({ name, call: (world) => ({ tool, args: args(world) }), ...more })

const values: WrongCall[] = [
  wrong('an unknown priority', 'create_task', ({ project }) => ({ title, project, priority: 'urgent' })),
  wrong('the status of another program', 'update_task', ({ open }) => ({ task: open, status: 'doing' })),
  wrong('an unknown value in a filter', 'list_tasks', ({ project }) => ({ project, status: 'open' })),
  wrong('a date in words', 'create_task', ({ project }) => ({ title, project, dueAt: 'next friday' }), {
    knows: () => ({ dueAt: '2026-12-04' }),
  }),
  wrong('a text in place of a list', 'update_task', ({ open }) => ({ task: open, evidence: 'bun test: 3 pass' })),
  wrong('a number in place of a text', 'create_note', () => ({ title: 42, content })),
]

const names: WrongCall[] = [
  wrong('the argument of another program', 'create_task', ({ project }) => ({ name: title, project })),
  wrong('an argument in another spelling', 'create_task', ({ project, open }) => ({
    title,
    project,
    depends_on: [open],
  })),
  wrong('id in place of the kind of record', 'get_task', ({ open }) => ({ id: open })),
  wrong('text in place of query', 'search_memory', () => ({ text: 'backup' })),
  wrong('an argument that no tool has', 'create_note', () => ({ title, content, folder: 'docs' })),
  wrong('an argument of another tool', 'create_task', ({ project }) => ({ title, project, claimNext: true })),
  wrong('a missing argument', 'log_decision', () => ({ title }), { knows: () => ({ decision: 'We use flock.' }) }),
  wrong('neither task nor tasks', 'complete_task', () => ({ notes: 'Done.' }), {
    knows: ({ open }) => ({ task: open }),
  }),
  wrong('the plural of a tool', 'create_tasks', ({ project }) => ({ title, project }), { next: 'create_task' }),
]

const records: WrongCall[] = [
  wrong('no project where there are several', 'create_task', () => ({ title })),
  wrong('a misspelt project', 'create_task', () => ({ title, project: 'folder-lok' })),
  wrong('a misspelt key', 'get_task', ({ open }) => ({ task: open.replace('-', 'K-') })),
  wrong('a number that no task has', 'update_task', ({ project }) => ({ task: `${project}-900`, priority: 'high' })),
  wrong('a task of another team', 'claim_task', ({ foreign }) => ({ task: foreign }), { next: 'list_tasks' }),
  wrong('a parent in another project', 'create_task', ({ project, other }) => ({
    title,
    project,
    parent: `${other}-1`,
  })),
]

const states: WrongCall[] = [
  wrong('an archived project', 'create_task', ({ archived }) => ({ title, project: archived }), {
    next: 'archive_project',
  }),
  wrong(
    'a session that has ended',
    'end_session',
    ({ ended }) => ({ session: ended, keep: true, checkpoint: { nextStep: 'Test it' } }),
    { next: 'resume_session' },
  ),
  wrong('open acceptance criteria', 'complete_task', ({ criteria }) => ({ task: criteria })),
  wrong('a task that waits for another one', 'complete_task', ({ waiting }) => ({ task: waiting })),
  wrong('a task that somebody else holds', 'claim_task', ({ held }) => ({ task: held }), { next: 'next_task' }),
  wrong(
    'a task that is held on another connection',
    'update_task',
    ({ elsewhere }) => ({ task: elsewhere, priority: 'high' }),
    { next: 'claim_task' },
  ),
  wrong('an old version', 'update_task', ({ open }) => ({ task: open, priority: 'high', expectedVersion: 999 })),
]

/** 28 mistakes that agents make, one in each call. */
export const wrongCalls: readonly WrongCall[] = [...values, ...names, ...records, ...states]
