import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList, listText } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import type { SearchKind } from '../../records/kind.ts'
import type { SearchName } from '../../records/names.ts'
import { parseSearchQuery, type QueryFilter } from '../../records/query-filters.ts'
import * as projects from '../projects/rows.ts'
import { kindsFor, type SearchFilter } from './filters.ts'
import type { UnderstoodFilter } from './schema.ts'
import { passages } from './table.ts'

export interface UnderstoodQuery {
  words: string
  filters: UnderstoodFilter[]
  place: SearchFilter
}

interface Understood {
  condition: SQL
  names?: string[]
  /** The kinds that the filter finds. Default: all. */
  kinds?: SearchName[]
}

/** Separates the filters of a query from its words. A filter with an unknown name counts as words. */
export async function understandQuery(ctx: Ctx, q: string, place: SearchFilter): Promise<UnderstoodQuery> {
  const { words, filters } = parseSearchQuery(q)
  const found = await Promise.all(filters.map(async (filter) => ({ filter, meaning: await understand(ctx, filter) })))
  const unknown = found.flatMap(({ filter, meaning }) => (meaning ? [] : filter.text))
  const known = found.flatMap(({ filter, meaning }) => (meaning ? { filter, ...meaning } : []))
  const given = place.kinds?.split(',') as SearchName[] | undefined
  const kinds = known.reduce<SearchName[] | undefined>((left, { kinds: some }) => narrow(left, some), given)
  return {
    words: [words, ...unknown].filter(Boolean).join(' '),
    filters: known.map(({ filter, names }) => ({ ...filter, values: names ?? filter.values })),
    place: {
      ...place,
      ...(kinds && { kinds: kinds.join(',') }),
      // `is not true`: a task without an assignee is not assigned to Ada.
      conditions: known.map(({ filter, condition }) => (filter.not ? sql`(${condition}) is not true` : condition)),
    },
  }
}

const narrow = (left: SearchName[] | undefined, some: SearchName[] | undefined): SearchName[] | undefined =>
  left && some ? left.filter((kind) => some.includes(kind)) : (some ?? left)

async function understand(ctx: Ctx, filter: QueryFilter): Promise<Understood | undefined> {
  if (filter.key === 'label') return { condition: hasTag(filter.values) }
  if (filter.key === 'project') return matchProjects(ctx, filter.values)
  const matching = await Promise.all(
    ctx.app.records.followed.map(async (record) => ({ record, match: await record.matchFilter?.(ctx, filter) })),
  )
  const known = matching.flatMap(({ record, match }) => (match ? { record, ...match } : []))
  const [first, ...others] = known.map(({ record, condition }) => isRecordWhere(record, condition))
  if (!first) return undefined
  return {
    condition: or(first, ...others),
    names: known.find(({ names }) => names)?.names,
    kinds: kindsFor(
      ctx,
      known.map(({ record }) => record.kind as SearchName),
    ),
  }
}

/** SQL condition: one of the tags or labels, whatever its case. */
const hasTag = (values: readonly string[]): SQL =>
  sql`exists (select 1 from unnest(${passages.tags}) tag where lower(tag) = any(${listText(
    values.map((value) => value.toLowerCase()),
  )}::text[]))`

const isRecordWhere = ({ kind, table }: SearchKind, condition: SQL): SQL =>
  and(
    sql`${passages.kind} = ${kind}::text`,
    sql`exists (select 1 from ${table} where ${table.id} = ${passages.recordId} and (${condition}))`,
  )

async function matchProjects(ctx: Ctx, refs: readonly string[]): Promise<Understood | undefined> {
  const found = await Promise.all(
    refs.map((ref) =>
      projects.findProject(ctx, ref).catch((error: unknown) => {
        if (error instanceof AppError) return undefined
        throw error
      }),
    ),
  )
  const known = found.filter((project) => project !== undefined)
  if (known.length < refs.length) return undefined
  return {
    condition: anyOf(passages.projectId, idList(known.map(({ id }) => id))),
    names: known.map((project) => projects.projectNamesFor(ctx, project).name),
  }
}
