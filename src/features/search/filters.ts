import { eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { projectColumn, type RecordKind, recordPath } from '../../records/kind.ts'
import { kindInfo, type SearchName, searchNames } from '../../records/names.ts'
import { mayRead } from '../../records/readable.ts'
import { isLive } from './indexing/source.ts'
import { passages } from './table.ts'
import { visibleTo } from './visible.ts'

/** Returns the wanted kinds that the caller's scopes allow. */
export const kindsFor = (ctx: Ctx, wanted: readonly SearchName[] = searchNames): SearchName[] =>
  wanted.filter((kind) => mayRead(ctx, kind))

export interface SearchFilter {
  kinds?: string
  projectId?: string
  /** Further conditions on passages, from the filters in the query. */
  conditions?: SQL[]
}

/** SQL condition: the passage has a wanted kind, is in the project and has not expired. Ignores visibility. */
export const isInFilter = (ctx: Ctx, { kinds: wanted, projectId, conditions = [] }: SearchFilter): SQL =>
  and(
    inArray(passages.kind, kindsFor(ctx, wanted?.split(',') as SearchName[] | undefined)),
    projectId ? eq(passages.projectId, projectId) : undefined,
    or(isNull(passages.expiresAt), gt(passages.expiresAt, ctx.now)),
    ...conditions,
  )

/** SQL condition for findable passages. It applies before anything is ranked, counted or limited. */
export const isFindableBy = (ctx: Ctx, place: SearchFilter): SQL =>
  and(visibleTo(rightsOf(ctx.actor)), isInFilter(ctx, place))

/**
 * SQL condition: the record itself still exists in the same place. Passages follow their records with a delay of about
 * a second, and a record that was deleted or moved meanwhile must not be found.
 */
export const isCurrentPassage = ({ app }: Ctx): SQL => {
  const cases = app.records.followed.map((record) => {
    const { kind, table, search } = record
    const same = (column: unknown, copy: SQL) => sql`${column ?? null}::uuid is not distinct from ${copy}`
    return sql`when ${kind}::text then exists (select 1 from ${table} where ${and(
      eq(table.id, passages.recordId),
      isLive(record),
      same(table.organizationId, sql`${passages.organizationId}`),
      same(projectColumn(record), sql`${passages.projectId}`),
      same(search.userId, sql`${passages.userId}`),
    )})`
  })
  return sql`case ${passages.kind} ${sql.join(cases, sql` `)} else true end`
}

/** SQL column: the path of a record that is nested below its project; null for all others. */
export const nestedPath = ({ app }: Ctx): SQL => {
  const cases = app.records.all.flatMap((record) =>
    kindInfo(record.kind).path
      ? []
      : sql`when ${record.kind}::text then (select ${recordPath(record)} from ${record.table}
        where ${record.table.id} = ${passages.recordId})`,
  )
  return sql`case ${passages.kind} ${sql.join(cases, sql` `)} end`
}

/** SQL column: the key or slug of a record, or the state it is in; null for kinds that have none. */
export const recordField = ({ app }: Ctx, field: 'key' | 'status'): SQL<string | null> => {
  const cases = app.records.followed.flatMap(({ kind, table, [field]: column }) =>
    column
      ? sql`when ${kind}::text then (select ${column} from ${table} where ${table.id} = ${passages.recordId})`
      : [],
  )
  return sql<string | null>`case ${passages.kind} ${sql.join(cases, sql` `)} end`
}

const hasSeveral = (search: RecordKind['search']): SQL =>
  (typeof search === 'object' ? search.several : undefined) ?? sql`false`

/** SQL column: the author or owner of a record; null if unknown, or if there are several. */
export const recordCreator = ({ app }: Ctx): SQL<string | null> => {
  const cases = app.records.all.flatMap(({ kind, table: { id, createdById }, table, search }) =>
    createdById
      ? sql`when ${kind}::text then (select ${createdById} from ${table}
          where ${id} = ${passages.recordId} and not (${hasSeveral(search)}))`
      : [],
  )
  return sql<string | null>`case ${passages.kind} ${sql.join(cases, sql` `)} else ${passages.userId} end`
}

const MOST_OWNED = 1000

/** Returns the ids of the newest records of these kinds that belong to an agent or a work session. */
export async function recordsOf(
  ctx: Ctx,
  kinds: readonly SearchName[],
  owner: { scope: 'agent' | 'session'; id: string },
): Promise<string[]> {
  const lists = ctx.app.records.followed.flatMap(({ kind, table, search }) => {
    const column = owner.scope === 'agent' ? search.agentId : search.sessionId
    if (!column || !kinds.includes(kind as SearchName)) return []
    return sql`(select ${table.id} as id from ${table} where ${column} = ${owner.id}::uuid
      order by ${table.updatedAt} desc limit ${MOST_OWNED})`
  })
  if (lists.length === 0) return []
  const { rows } = await ctx.db.execute<{ id: string }>(sql.join(lists, sql` union all `))
  return rows.map(({ id }) => id)
}

export const apiPath = (kind: SearchName, id: string, nested: string | null): string =>
  `/api${nested ?? `${kindInfo(kind).path}/${id}`}`
