import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { isAtLeast, memberOrAlone } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { actorColumns, groupActor, toPublicActor } from '../../events/actor.ts'
import { events, isDeletion } from '../../events/table.ts'
import { type Restorable, recordPath } from '../../records/kind.ts'
import type { RestorableName } from '../../records/names.ts'
import { keyset } from '../../records/page.ts'
import { mayRead } from '../../records/readable.ts'
import { isOwnEvent, ownDeletionsSince, ownRestoreUntil } from '../../records/restore-rights.ts'
import { RESTORE_DAYS } from '../../records/rows.ts'
import { isProjectOfCaller } from '../projects/rows.ts'
import { inVisibleProject } from '../projects/visible.ts'
import type { TrashPage, TrashQuery } from './schema.ts'

const DAY = 86_400_000

/** Lists the records that the caller may restore, last deleted first. */
export const list = read(
  'trash.list',
  memberOrAlone('projects:read'),
  async (ctx, { kind, ...query }: TrashQuery): Promise<TrashPage> => {
    const wanted = ctx.app.records.restorable.filter((one) => (kind ?? one.kind) === one.kind && mayRead(ctx, one.kind))
    const page = keyset({ seq: events.seq }, events.id, query, { sort: 'seq' })
    if (wanted.length === 0) return { items: [], nextCursor: null }
    const gone = sql`lateral (${sql.join(
      wanted.map((record) => deletedRows(ctx, record)),
      sql` union all `,
    )}) gone`
    const rows = await ctx.db
      .select({
        ...actorColumns,
        id: events.id,
        seq: events.seq,
        subjectId: sql<string>`${events.subjectId}`,
        organizationId: events.organizationId,
        deletedAt: events.at,
        kind: sql<RestorableName>`gone.kind`,
        title: sql<string>`gone.title`,
        path: sql<string>`gone.path`,
        version: sql<number>`gone.version`,
        projectId: sql<string | null>`gone.project_id`,
      })
      .from(events)
      .innerJoin(gone, sql`true`)
      .where(page.where(restorable(ctx)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, nextCursor } = page.page(rows)
    return {
      nextCursor,
      items: items.map((row) => {
        const { actor, subjectId, organizationId, id: _, seq: __, ...shown } = groupActor(row)
        return { ...shown, id: subjectId, deletedBy: toPublicActor(actor), restorableUntil: restoreDeadline(ctx, row) }
      }),
    }
  },
)

/** The deletions that the caller may undo: their own of the last day, and as administrator all of 30 days. */
function restorable(ctx: Ctx): SQL {
  const { actor, now } = ctx
  const { personal } = rightsOf(actor)
  const own = and(isOwnEvent(actor), gt(events.at, ownDeletionsSince(now)))
  const inTeam = actor.organizationId ? eq(events.organizationId, actor.organizationId) : sql`false`
  return and(
    isDeletion(events.type),
    gt(events.at, new Date(Date.parse(now) - RESTORE_DAYS * DAY).toISOString()),
    or(
      and(inTeam, isAdmin(ctx, actor.organizationId) ? undefined : own),
      and(isNull(events.organizationId), eq(events.userId, personal)),
    ),
  )
}

const isAdmin = ({ actor }: Ctx, organizationId: string | null): boolean =>
  actor.kind === 'system' || (organizationId !== null && isAtLeast(actor.memberships.get(organizationId), 'admin'))

/** Authors can restore a personal record for as long as it is kept. */
const restoreDeadline = (
  ctx: Ctx,
  { organizationId, deletedAt }: { organizationId: string | null; deletedAt: string },
): string =>
  organizationId === null || isAdmin(ctx, organizationId)
    ? new Date(Date.parse(deletedAt) + RESTORE_DAYS * DAY).toISOString()
    : ownRestoreUntil(deletedAt)

/** SQL for the row of the event's record, if this event deleted it and the caller sees its project. */
function deletedRows(ctx: Ctx, record: Restorable): SQL {
  const { kind, table, deleted } = record
  const rights = rightsOf(ctx.actor)
  const ofProject = table.projectId && inVisibleProject(table.projectId, rights)
  // A credential that is limited to projects sees nothing else in the trash.
  const ofNone = ctx.actor.projects ? sql`false` : table.projectId && isNull(table.projectId)
  const project = kind === 'project' ? table.id : (table.projectId ?? sql`null::uuid`)
  return sql`(select ${kind}::text as kind, ${record.title} as title, ${recordPath(record)} as path,
    ${table.version} as version, ${project} as project_id from ${table}
    where ${and(
      eq(table.id, events.subjectId),
      eq(events.type, deleted.name),
      sql`${table.deletedAt} = ${events.at}`,
      kind === 'project' ? isProjectOfCaller(rights) : or(ofProject, ofNone),
    )})`
}
