import { isNull, sql } from 'drizzle-orm'
import { and } from '../db/conditions.ts'
import type { Db } from '../db/session.ts'
import type { EventCatalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'
import { projectColumn, type RecordKind, type Records } from '../records/kind.ts'

interface On {
  readonly db: Db
  readonly records: Records
  readonly events: EventCatalogue
}

export type AttachedRecord = Record<string, unknown>

/** The current container of a record, and the owner of a personal one. */
interface Where {
  organizationId: string | null
  projectId: string | null
  ownerId: string | null
  scope: string | null
}

/**
 * Returns the current records of events by event id, with one statement per kind. Leaves out a record that has moved to
 * another team or project since the event, because other people may see it there. Contains only fields that are the
 * same for every reader.
 */
export async function loadEventRecords(on: On, events: readonly AppEvent[]): Promise<Map<string, AttachedRecord>> {
  const byKind = Map.groupBy(events, ({ type }) => on.events.kindOf(type) ?? '')
  const found = new Map<string, AttachedRecord>()
  for (const [name, about] of byKind) {
    const kind = on.records.find(name)
    if (!kind) continue
    const now = await readRecords(on.db, kind, new Set(about.flatMap(({ subjectId }) => subjectId ?? [])))
    for (const event of about) {
      const record = event.subjectId ? now.get(event.subjectId) : undefined
      if (record && isWhere(event, record.where)) found.set(event.id, record.item)
    }
  }
  return found
}

function isWhere({ organizationId, projectId, userId }: AppEvent, where: Where): boolean {
  if (organizationId !== where.organizationId || projectId !== where.projectId) return false
  const isPersonal = where.organizationId === null || where.scope === 'personal'
  return isPersonal ? userId !== null && userId === where.ownerId : true
}

function columnsOf({ item, sync }: RecordKind): NonNullable<RecordKind['item']> {
  if (item || !sync) return item ?? {}
  return Object.fromEntries(Object.entries(sync.columns).filter(([name]) => sync.fields[name] !== 'text'))
}

async function readRecords(db: Db, kind: RecordKind, ids: ReadonlySet<string>) {
  const { table, title, key, status, ownerId } = kind
  const item = columnsOf(kind)
  const none = sql<null>`null::text`
  const rows = await db
    .select({
      item: {
        kind: sql<string>`${kind.kind}::text`,
        id: table.id,
        version: table.version,
        updatedAt: table.updatedAt,
        title: sql`${title}`,
        key: key ? sql`${key}` : none,
        status: status ? sql`${status}` : none,
        ...item,
      },
      where: {
        organizationId: table.organizationId,
        projectId: projectColumn(kind) ?? none,
        ownerId: ownerId ?? none,
        scope: item.scope ?? none,
      },
    })
    .from(table)
    .where(
      and(
        sql`${table.id} = any(${`{${[...ids].join(',')}}`}::uuid[])`,
        table.deletedAt ? isNull(table.deletedAt) : undefined,
      ),
    )
  return new Map(rows.map((row) => [row.item.id as string, row as { item: AttachedRecord; where: Where }]))
}
