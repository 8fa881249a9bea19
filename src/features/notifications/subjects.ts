import { inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { type RecordKind, recordPath } from '../../records/kind.ts'
import type { RecordName } from '../../records/names.ts'
import { readVisible } from '../../records/readable.ts'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { invitesAmong } from './hooks.ts'
import type { Subject } from './schema.ts'

/** Columns of the record that a notification is about, and of who caused it. */
export interface SubjectColumns {
  recordKind: RecordName | 'invite' | null
  recordId: string | null
  fromType: 'user' | 'agent' | null
  fromId: string | null
}

export interface RecordReference {
  kind: RecordName | 'invite'
  id: string
}

/**
 * Returns the paths of records by their ids. Each contains the team, because keys and slugs are unique only in a team.
 */
export async function pagesOf(ctx: Ctx, records: readonly RecordReference[]): Promise<Map<string, string>> {
  const pages = new Map<string, string>()
  for (const [kind, list] of Map.groupBy(records, (record) => record.kind)) {
    if (kind === 'invite') continue
    const record = ctx.app.records.get(kind)
    const ids = idList([...new Set(list.map(({ id }) => id))])
    const { rows } = await ctx.db.execute<{ id: string; path: string; team: string | null }>(sql`
      select ${record.table.id} as id, ${recordPath(record)} as path, ${teamOf(record)} as team
      from ${record.table} where ${anyOf(record.table.id, ids)}`)
    for (const { id, path, team } of rows) pages.set(id, team === null ? path : `${path}?team=${team}`)
  }
  return pages
}

/** The slug of a record's team. */
const teamOf = ({ table }: RecordKind) =>
  sql`(select ${organizations.slug} from ${organizations} where ${organizations.id} = ${table.organizationId})`

/** Adds the record that each notification is about and who caused it, with their current names. */
export async function withSubjects<R extends SubjectColumns>(
  ctx: Ctx,
  rows: readonly R[],
): Promise<(Omit<R, keyof SubjectColumns> & { subject: Subject | null; from: UserOrAgent | null })[]> {
  const subjects = await subjectsOf(ctx, rows)
  const names = await namesOf(ctx, rows)
  return rows.map(({ recordKind: _, recordId, fromType, fromId, ...row }) => {
    const name = fromId === null ? undefined : names.get(fromId)
    return {
      ...row,
      subject: (recordId !== null && subjects.get(recordId)) || null,
      from: fromType && name !== undefined ? { type: fromType, id: fromId, name } : null,
    }
  })
}

async function subjectsOf(ctx: Ctx, rows: readonly SubjectColumns[]): Promise<Map<string, Subject>> {
  const found: Subject[] = []
  const named = rows.filter((row) => row.recordKind !== null && row.recordId !== null)
  for (const [kind, list] of Map.groupBy(named, (row) => row.recordKind as RecordName | 'invite')) {
    const ids = [...new Set(list.map(({ recordId }) => recordId as string))]
    found.push(
      ...(kind === 'invite' ? (await invitesAmong.call(ctx, { ids })).flat() : await seenSubjects(ctx, kind, ids)),
    )
  }
  return new Map(found.map((subject) => [subject.id, subject]))
}

/** Returns those of these records that the caller sees. */
async function seenSubjects(ctx: Ctx, kind: RecordName, ids: readonly string[]): Promise<Subject[]> {
  const rows = await readVisible<Omit<Subject, 'kind'>>(ctx, kind, ids, (record) => ({
    id: record.table.id,
    title: record.title,
    key: sql`${record.key ?? null}::text`,
    status: sql`${record.status ?? null}::text`,
    path: recordPath(record),
    team: teamOf(record),
  }))
  return rows.map((row) => ({ ...row, kind }))
}

async function namesOf(ctx: Ctx, rows: readonly SubjectColumns[]): Promise<Map<string, string>> {
  const ids = (type: 'user' | 'agent') => [
    ...new Set(rows.flatMap(({ fromType, fromId }) => (fromType === type && fromId ? [fromId] : []))),
  ]
  const [people, agents] = [ids('user'), ids('agent')]
  const names = new Map<string, string>()
  if (people.length > 0) {
    const found = await ctx.db.select({ id: users.id, name: users.name }).from(users).where(inArray(users.id, people))
    for (const { id, name } of found) names.set(id, name)
  }
  if (agents.length > 0) {
    const { table, title } = ctx.app.records.get('agent')
    const { rows: found } = await ctx.db.execute<{ id: string; name: string }>(
      sql`select ${table.id} as id, ${title} as name from ${table} where ${anyOf(table.id, idList(agents))}`,
    )
    for (const { id, name } of found) names.set(id, name)
  }
  return names
}
