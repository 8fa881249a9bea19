import { isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { prepare } from '../../db/session.ts'
import type { RecordKind, Records } from '../../records/kind.ts'
import { mentionNames } from '../../records/names.ts'
import { passages } from '../search/table.ts'
import { findSeenRecords, type LinkEnd } from './ends.ts'
import type { LinkedRecord } from './schema.ts'
import { links } from './table.ts'

type Row = Pick<LinkedRecord, 'type' | 'id' | 'kind' | 'direction'>

const MOST = 50

const value = (name: string) => sql.placeholder(name)
const mentioningRecords = sql`union all select p.kind, p.record_id, 'mentions', 'from', max(p.at) from ${passages} p
  where p.organization_id = ${value('organizationId')} and p.kind in (${sql.join(
    mentionNames.map((name) => sql`${name}`),
    sql`, `,
  )})
    and p.search @@ phraseto_tsquery('english', ${value('words')})
    and (p.title || ' ' || p.content) ~* ${value('whole')} and (p.expires_at is null or p.expires_at > ${value('now')})
  group by p.kind, p.record_id`
/** For kinds that store links in their own rows, such as notes. */
const recordsListing = ({ kind, table, ownLinks, ownerId }: RecordKind): SQL =>
  sql`union all select ${kind}::text, ${table.id}, coalesce(l->>'kind', 'relates'), 'from', ${table.updatedAt}
    from ${table}, jsonb_array_elements(${ownLinks}) l
    where ${ownLinks} <> '[]' and ${ownLinks} @> ${value('link')}::text::jsonb and l->>'id' = ${value('id')}::text
      and ${table.deletedAt ? isNull(table.deletedAt) : sql`true`}
      and (${table.organizationId} = ${value('organizationId')} or ${ownerId ?? null}::uuid = ${value('userId')})`

const prepareLinked = (records: Records, more: SQL) =>
  prepare((db) =>
    db
      .select({
        type: sql<Row['type']>`found.type`,
        id: sql<string>`found.id`,
        kind: sql<Row['kind']>`found.kind`,
        direction: sql<Row['direction']>`found.direction`,
      })
      .from(sql`(
        select to_type as type, to_id as id, kind, 'to' as direction, created_at as at from ${links}
        where from_id = ${value('id')}
        union all select from_type, from_id, kind, 'from', created_at from ${links} where to_id = ${value('id')}
        ${sql.join(records.all.filter(({ ownLinks }) => ownLinks).map(recordsListing), sql` `)}
        ${more}) found`)
      .orderBy(sql`found.kind = 'mentions', found.at desc, found.id`)
      .limit(MOST * 2),
  )

interface Statements {
  linked: ReturnType<typeof prepareLinked>
  linkedOrNamed: ReturnType<typeof prepareLinked>
}
const builtStatements = new WeakMap<Records, Statements>()

/** Builds the statements once for all kinds of records. */
function statements(records: Records): Statements {
  const known = builtStatements.get(records)
  if (known) return known
  const made = { linked: prepareLinked(records, sql``), linkedOrNamed: prepareLinked(records, mentioningRecords) }
  builtStatements.set(records, made)
  return made
}

/**
 * Returns the records linked with a record, newest first: links in both directions, notes whose own links contain it,
 * and texts that mention its key. Without links this takes one short query.
 */
export async function linkedRecords(
  ctx: Ctx,
  { id, organizationId, key }: { id: string; organizationId: string | null; key?: string },
): Promise<LinkedRecord[]> {
  const about = { id, organizationId, link: JSON.stringify([{ id }]), userId: ctx.actor.userId }
  const { linked, linkedOrNamed } = statements(ctx.app.records)
  const rows = await (key
    ? linkedOrNamed(ctx.db, { ...about, words: key.replace('-', ' '), whole: `\\m${key}\\M`, now: ctx.now })
    : linked(ctx.db, about))
  if (rows.length === 0) return []
  const ends = new Map<string, LinkEnd>()
  for (const [type, list] of Map.groupBy(rows, (row) => row.type))
    for (const end of await findSeenRecords(ctx, type, [...new Set(list.map((row) => row.id))])) ends.set(end.id, end)
  const listed = new Set<string>()
  return rows
    .flatMap(({ id: other, kind, direction }) => {
      const end = ends.get(other)
      const link = `${other} ${kind} ${direction}`
      // A record that is linked is not listed as a mention as well.
      if (!end || listed.has(link) || (kind === 'mentions' && listed.has(other))) return []
      listed.add(other).add(link)
      return [{ type: end.type, id: end.id, title: end.title, path: end.path, kind, direction }]
    })
    .slice(0, MOST)
}
