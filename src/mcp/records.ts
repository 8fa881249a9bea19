import type { Ctx } from '../action.ts'
import { AppError } from '../errors.ts'
import { detail as agentDetail } from '../features/agents/detail.ts'
import * as agents from '../features/agents/service.ts'
import * as decisions from '../features/decisions/service.ts'
import * as memory from '../features/memory/service.ts'
import * as notes from '../features/notes/service.ts'
import * as projects from '../features/projects/service.ts'
import * as sessions from '../features/sessions/service.ts'
import * as skills from '../features/skills/service.ts'
import * as specs from '../features/specs/service.ts'
import * as tasks from '../features/tasks/service.ts'
import * as features from '../features/workflow/service.ts'

/** Records that a client can read, watch and put before its model: `tutti://task/TUT-42`. */
export interface Kind {
  readonly title: string
  /** What may stand for `{id}`. */
  readonly by: string
  /** The tool that shows the same: whoever may not use it sees none of these either. */
  readonly tool: string
  readonly read: (ctx: Ctx, ref: string) => Promise<object>
  readonly list: (ctx: Ctx, limit: number) => Promise<{ items: readonly object[] }>
}

export type Fields = Record<string, unknown>

export const kinds: Readonly<Record<string, Kind>> = {
  task: {
    title: 'Task',
    by: 'Key (TUT-42) or id',
    tool: 'get_task',
    read: (ctx, ref) => tasks.detail(ctx, { ref }),
    list: (ctx, limit) => tasks.list(ctx, { limit }),
  },
  project: {
    title: 'Project',
    by: 'Slug, key or id',
    tool: 'get_project',
    read: (ctx, ref) => projects.get(ctx, { ref }),
    list: (ctx, limit) => projects.list(ctx, { status: 'active', limit }),
  },
  note: {
    title: 'Note',
    by: 'Slug or id',
    tool: 'get_note',
    read: (ctx, ref) => notes.detail(ctx, { ref }),
    list: (ctx, limit) => notes.list(ctx, { limit }),
  },
  decision: {
    title: 'Decision',
    by: 'Id',
    tool: 'get_decision',
    read: (ctx, ref) => decisions.get(ctx, { ref }),
    list: (ctx, limit) => decisions.list(ctx, { limit }),
  },
  spec: {
    title: 'Spec',
    by: 'Slug or id',
    tool: 'get_spec',
    read: (ctx, ref) => specs.get(ctx, { ref }),
    list: (ctx, limit) => specs.list(ctx, { limit }),
  },
  memory: {
    title: 'Memory',
    by: 'Id',
    tool: 'search_memory',
    read: (ctx, ref) => memory.get(ctx, { ref }),
    list: (ctx, limit) => memory.list(ctx, { limit }),
  },
  session: {
    title: 'Session',
    by: 'Id',
    tool: 'list_sessions',
    read: (ctx, ref) => sessions.get(ctx, { ref }),
    list: (ctx, limit) => sessions.list(ctx, { limit }),
  },
  feature: {
    title: 'Feature',
    by: 'Id',
    tool: 'get_feature',
    read: (ctx, ref) => features.get(ctx, { ref }),
    list: (ctx, limit) => features.list(ctx, { limit }),
  },
  skill: {
    title: 'Skill',
    by: 'Slug or id',
    tool: 'get_skill',
    read: (ctx, ref) => skills.get(ctx, { ref }),
    list: (ctx, limit) => skills.listInTeam(ctx, { limit }),
  },
  agent: {
    title: 'Agent',
    by: 'Slug or id',
    tool: 'get_agent',
    read: (ctx, ref) => agentDetail(ctx, { ref }),
    list: (ctx, limit) => agents.listInTeam(ctx, { limit }),
  },
}

/** What the caller has to do: one address that tells of every change to it. */
export const MINE = 'tutti://me'

const address = /^tutti:\/\/([a-z]+)\/([^/?#]{1,300})$/

/** Which record an address names, if it is one of ours. */
export function parse(uri: string): { kind: Kind; noun: string; ref: string } | undefined {
  const [, noun = '', ref = ''] = address.exec(uri) ?? []
  const kind = Object.hasOwn(kinds, noun) ? kinds[noun] : undefined
  try {
    return kind && { kind, noun, ref: decodeURIComponent(ref) }
  } catch {
    return undefined
  }
}

/** As people would name it. */
export const handle = (record: object): string => {
  const { key, slug, id } = record as Fields
  return String(key ?? slug ?? id)
}
export const uriOf = (noun: string, record: object): string => `tutti://${noun}/${encodeURIComponent(handle(record))}`
export const titleOf = (record: object): string => {
  const { key, title, name, goals } = record as Fields
  const named = title ?? name ?? (Array.isArray(goals) ? goals[0] : undefined)
  return [noun(key), noun(named)].filter(Boolean).join(' ') || handle(record)
}
const noun = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export const isGone = (error: unknown): boolean => error instanceof AppError && error.status === 404
