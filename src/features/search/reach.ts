import { eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import { scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { visibleTo } from './hybrid.ts'
import { type Kind, kinds } from './schema.ts'
import { live } from './source.ts'
import { passages } from './table.ts'

/** What a credential must be allowed to read to find these: searching is no way around its scopes. */
export const scopes: Record<Kind, string> = {
  memory: 'memories:read',
  note: 'notes:read',
  decision: 'decisions:read',
  spec: 'specs:read',
  task: 'tasks:read',
  session: 'sessions:read',
  project: 'projects:read',
  epic: 'tasks:read',
  story: 'tasks:read',
  feature: 'features:read',
  skill: 'skills:read',
  agent: 'agents:read',
}

export const kindsFor = ({ scopes: held }: Actor, wanted: readonly Kind[] = kinds): Kind[] =>
  wanted.filter((kind) => scopeHolds(held, scopes[kind]))

export interface Place {
  kinds?: string
  projectId?: string
}

/** What may be found at all, before anything is ranked, counted or cut off. */
export const within = (ctx: Ctx, { kinds: wanted, projectId }: Place): SQL =>
  and(
    visibleTo(rightsOf(ctx.actor)),
    inArray(passages.kind, kindsFor(ctx.actor, wanted?.split(',') as Kind[] | undefined)),
    projectId ? eq(passages.projectId, projectId) : undefined,
    or(isNull(passages.expiresAt), gt(passages.expiresAt, ctx.now)),
  )

/**
 * Passages follow their records within a second or so. What was deleted, or moved to where other people see it, meanwhile is not to be found:
 * the record is asked.
 */
export const current = ({ app }: Ctx): SQL => {
  const cases = app.sources.map((source) => {
    const { kind, table } = source
    const same = (column: unknown, copy: SQL) => sql`${column ?? null}::uuid is not distinct from ${copy}`
    return sql`when ${kind}::text then exists (select 1 from ${table} where ${and(
      eq(table.id, passages.recordId),
      live(source),
      same(table.organizationId, sql`${passages.organizationId}`),
      same(source.projectId ?? table.projectId, sql`${passages.projectId}`),
      same(source.userId, sql`${passages.userId}`),
    )})`
  })
  return sql`case ${passages.kind} ${sql.join(cases, sql` `)} else true end`
}

/** Where a record is read. */
export function pathOf(
  kind: Kind,
  id: string,
  { projectId, epicId }: { projectId: string | null; epicId?: string | null },
): string {
  if (kind === 'epic') return `/api/projects/${projectId}/epics/${id}`
  if (kind === 'story') return `/api/projects/${projectId}/epics/${epicId}/stories/${id}`
  return `/api/${folders[kind]}/${id}`
}

const folders: Record<Exclude<Kind, 'epic' | 'story'>, string> = {
  memory: 'memories',
  note: 'notes',
  decision: 'decisions',
  spec: 'specs',
  task: 'tasks',
  session: 'sessions',
  project: 'projects',
  feature: 'features',
  skill: 'skills',
  agent: 'agents',
}
