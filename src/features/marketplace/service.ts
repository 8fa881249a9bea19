import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, admin, anyone } from '../../auth/policy.ts'
import { toIso } from '../../db/columns.ts'
import { AppError, notFound } from '../../errors.ts'
import type { MarketName } from '../../records/names.ts'
import { isValidTime } from '../../records/page.ts'
import { isId } from '../../records/reference.ts'
import { visibleText } from '../../text/text.ts'
import { agents } from '../agents/table.ts'
import { notify } from '../notifications/service.ts'
import { hiddenRecords } from '../organizations/hidden-table.ts'
import { organizations } from '../organizations/table.ts'
import { requireSitePart } from '../settings/values.ts'
import { skillCalls, skills } from '../skills/table.ts'
import { isNotBySuspendedAuthor } from '../users/suspended.ts'
import { users } from '../users/table.ts'
import { itemModerated, itemReported } from './events.ts'
import type {
  ByItem,
  Hide,
  MarketplacePage,
  MarketplaceQuery,
  ModeratedItem,
  ModeratedItemPage,
  ModeratedItemQuery,
  Report,
  ReportMade,
} from './schema.ts'
import { marketplaceReports } from './table.ts'

interface Row extends Record<string, unknown> {
  kind: MarketName
  id: string
  name: string
  slug: string
  description: string | null
  owner: string | null
  handle: string | null
  author: string | null
  uses: number
  at: string | Date
  reports: number
  hidden: boolean
  reason: string | null
  /** Visible to everyone in the marketplace. */
  listed: boolean
}

/** SQL condition: made public by its owners, hidden by an administrator or not, and its team exists. */
const isPublishedRecord = (t: typeof skills | typeof agents): SQL =>
  sql`${t.scope} = 'public' and ${t.deletedAt} is null and (${t.organizationId} is null or exists (
    select 1 from ${organizations} where ${organizations.id} = ${t.organizationId}
      and ${organizations.deletedAt} is null and ${organizations.sandboxOf} is null))`

interface KindQuery {
  description: SQLWrapper
  /** Condition for listing it, in addition to those for all kinds. */
  isListed: SQL
}

const selectKind = (kind: SQL, t: typeof skills | typeof agents, { description, isListed }: KindQuery): SQL => sql`
  select ${kind} as kind, ${t.id} as id, ${t.name} as name, ${t.slug} as slug, ${description} as description,
    ${users.id} as owner, ${users.handle} as handle, ${users.name} as author, ${t.updatedAt} as at,
    ${hiddenRecords.recordId} is not null as hidden, ${hiddenRecords.reason} as reason,
    ${hiddenRecords.recordId} is null and ${isNotBySuspendedAuthor(t.createdById)} and ${isListed} as listed
  from ${t} left join ${users} on ${users.id} = ${t.createdById}
    left join ${hiddenRecords} on ${hiddenRecords.recordId} = ${t.id}
  where ${isPublishedRecord(t)}`

/** Number of agents that use a skill, for the skills of the page. One query for each would take seconds. */
const agentsBySkill = sql`
  select named.skill, count(distinct a.id)::int as agents
  from ${agents} a cross join lateral jsonb_array_elements_text(a.skills) named(skill)
  where a.deleted_at is null and a.skills ?| (select array_agg(page.id::text) from page where page.kind = 'skill')
  group by named.skill`
/** Agents that use the skill, plus reads by agents of other teams. Agents have no uses. */
const uses = sql`case when page.kind <> 'skill' then 0 else coalesce(by_skill.agents, 0)
  + coalesce((select ${skillCalls.calls} from ${skillCalls} where ${skillCalls.skillId} = page.id), 0) end`
const reports = sql`(select count(*)::int from ${marketplaceReports} where ${marketplaceReports.recordId} = page.id)`

const kindQueries: Record<MarketName, SQL> = {
  skill: selectKind(sql`'skill'`, skills, { description: skills.description, isListed: sql`true` }),
  agent: selectKind(sql`'agent'`, agents, { description: agents.role, isListed: sql`${agents.status} = 'active'` }),
}
const allItems = sql`(${sql.join(Object.values(kindQueries), sql` union all `)}) items`

const conditionsOf = (kind?: string, search?: string): SQL[] => [
  ...(kind ? [sql`kind = ${kind}`] : []),
  ...(search ? [sql`name ilike ${`%${search.replace(/[\\%_]/g, '\\$&')}%`}`] : []),
]

/** Rows after the cursor, which is the time and id of the last one before. */
function afterCursor(cursor: string | undefined): SQL[] {
  if (cursor === undefined) return []
  const [at = '', id = ''] = Buffer.from(cursor, 'base64url').toString().split(' ')
  if (!isTimeText(at) || !isId(id))
    throw new AppError('invalid.cursor', 'The cursor does not belong to this list. Start again without a cursor.')
  return [sql`(at, id) < (${at}::timestamptz, ${id}::uuid)`]
}
const isTimeText = (text: string): boolean => !Number.isNaN(Date.parse(text)) && isValidTime(text)

/** Counts uses and reports only for the returned rows: for all records it would take seconds. */
async function rowsOf(ctx: Ctx, conditions: SQL[], limit: number): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``
  const some = sql`select * from ${allItems} ${where} order by at desc, id desc limit ${limit + 1}`
  const { rows } = await ctx.db.execute<Row>(
    sql`with page as materialized (${some}), by_skill as materialized (${agentsBySkill})
      select page.*, ${uses} as uses, ${reports} as reports
      from page left join by_skill on by_skill.skill = page.id::text
      order by at desc, id desc`,
  )
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return { rows: page, nextCursor: last ? Buffer.from(`${toIso(last.at)} ${last.id}`).toString('base64url') : null }
}

const toMarketItem = ({ owner: _, listed: __, handle, author, at, ...row }: Row): ModeratedItem => ({
  ...row,
  author: handle && author ? { handle, name: author } : null,
  updatedAt: toIso(at),
})

export const listAll = read(
  'marketplace.listAll',
  admin,
  async (ctx, { search, kind, hidden, limit = 50, cursor }: ModeratedItemQuery): Promise<ModeratedItemPage> => {
    const filters = [...conditionsOf(kind, search), ...(hidden === undefined ? [] : [sql`hidden = ${hidden}`])]
    const { rows, nextCursor } = await rowsOf(ctx, [...filters, ...afterCursor(cursor)], limit)
    return { items: rows.map(toMarketItem), nextCursor }
  },
)

export const list = read(
  'marketplace.list',
  anyone,
  async (ctx, { search, kind, limit = 50, cursor }: MarketplaceQuery): Promise<MarketplacePage> => {
    await requireSitePart(ctx, 'marketplace')
    const filters = [...conditionsOf(kind, search), sql`listed`]
    const { rows, nextCursor } = await rowsOf(ctx, [...filters, ...afterCursor(cursor)], limit)
    return {
      items: rows.map(toMarketItem).map(({ reports: _, hidden: __, reason: ___, ...shown }) => shown),
      nextCursor,
    }
  },
)

async function findMarketItem(ctx: Ctx, { kind, id }: ByItem): Promise<Row> {
  const { rows } = await rowsOf(ctx, [sql`kind = ${kind}`, sql`id = ${id}::uuid`], 1)
  if (!rows[0]) throw notFound(kind, id)
  return rows[0]
}

/** Hides a public record from everyone but its own team, or shows it again. Notifies its owner. */
export const moderate = write(
  'marketplace.moderate',
  admin,
  async (ctx, { kind, id, hidden, reason = null }: ByItem & Hide): Promise<ModeratedItem> => {
    const before = await findMarketItem(ctx, { kind, id })
    if (hidden)
      await ctx.db
        .insert(hiddenRecords)
        .values({ recordId: id, kind, reason, hiddenById: ctx.actor.userId, hiddenAt: ctx.now })
        .onConflictDoUpdate({ target: hiddenRecords.recordId, set: { reason } })
    else {
      await ctx.db.delete(hiddenRecords).where(eq(hiddenRecords.recordId, id))
      await ctx.db.delete(marketplaceReports).where(eq(marketplaceReports.recordId, id))
    }
    ctx.emit(itemModerated, { subjectId: id, userId: before.owner, data: { kind, name: before.name, hidden } })
    if (before.owner && before.hidden !== hidden)
      await notify(ctx, {
        userId: before.owner,
        type: hidden ? 'warning' : 'info',
        reason: 'marketplace',
        title: `Your ${kind} ${hidden ? 'was hidden from the public' : 'is public again'}: ${before.name}`,
        message: reason ?? undefined,
        link: `/${kind}s/${id}`,
      })
    return toMarketItem(await findMarketItem(ctx, { kind, id }))
  },
  { idempotent: true },
)

/** Reports a public record to the administrators, once for each user. */
export const report = write(
  'marketplace.report',
  account('marketplace:write'),
  async (ctx, { kind, id, reason }: ByItem & Report): Promise<ReportMade> => {
    await requireSitePart(ctx, 'marketplace')
    const found = await findMarketItem(ctx, { kind, id })
    if (!found.listed) throw notFound(kind, id)
    const made = await ctx.db
      .insert(marketplaceReports)
      .values({ recordId: id, userId: userIdOf(ctx.actor), reason: visibleText(reason).trim(), createdAt: ctx.now })
      .onConflictDoNothing()
      .returning({ id: marketplaceReports.recordId })
    if (made.length > 0) ctx.emit(itemReported, { subjectId: id, userId: ctx.actor.userId, data: { kind } })
    return { id, reported: made.length > 0 }
  },
  { idempotent: true },
)
