import { and, eq } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, admin } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { notify } from '../notifications/service.ts'
import { users } from '../users/table.ts'
import { issueCreated, issueUpdated } from './events.ts'
import type {
  Issue,
  IssueCreate,
  IssuePage,
  IssuePatch,
  IssueQuery,
  ReportedIssue,
  ReportedIssuePage,
  ReportedIssueQuery,
} from './schema.ts'
import { issues } from './table.ts'

const visible = {
  id: issues.id,
  createdAt: issues.createdAt,
  updatedAt: issues.updatedAt,
  version: issues.version,
  title: issues.title,
  description: issues.description,
  priority: issues.priority,
  status: issues.status,
  answer: issues.answer,
  answeredAt: issues.answeredAt,
}
const reportedColumns = {
  ...visible,
  answeredById: issues.answeredById,
  reporter: { id: users.id, name: users.name, handle: users.handle, email: users.email },
}

const orders = { createdAt: issues.createdAt, updatedAt: issues.updatedAt }

export const create = write(
  'issues.create',
  account('issues:write'),
  async (ctx, input: IssueCreate): Promise<Issue> => {
    const userId = userIdOf(ctx.actor)
    const [issue] = await ctx.db
      .insert(issues)
      .values({
        userId,
        title: input.title.trim(),
        description: input.description,
        priority: input.priority ?? 'medium',
        status: 'open',
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(visible)
    if (!issue) throw new Error('insert returned nothing')
    ctx.emit(issueCreated, { subjectId: issue.id, userId, data: { title: issue.title, priority: issue.priority } })
    return issue
  },
)

export const list = read('issues.list', account('issues:read'), async (ctx, query: IssueQuery): Promise<IssuePage> => {
  const page = keyset(orders, issues.id, query, { sort: 'createdAt' })
  const filters = and(eq(issues.userId, userIdOf(ctx.actor)), query.status && eq(issues.status, query.status))
  const rows = await ctx.db
    .select(visible)
    .from(issues)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(issues, filters) : undefined)
})

// ---- for administrators

const selectReported = (ctx: Ctx) =>
  ctx.db.select(reportedColumns).from(issues).innerJoin(users, eq(users.id, issues.userId)).$dynamic()

async function findIssue(ctx: Ctx, id: string): Promise<ReportedIssue> {
  const [found] = await selectReported(ctx).where(eq(issues.id, id))
  if (!found) throw notFound('issue', id)
  return found
}

/** Lists the reports of all users, or of one. */
export const listAll = read(
  'issues.listAll',
  admin,
  async (ctx, query: ReportedIssueQuery & { userId?: string }): Promise<ReportedIssuePage> => {
    const page = keyset(orders, issues.id, query, { sort: 'createdAt' })
    const filters = and(
      query.userId === undefined ? undefined : eq(issues.userId, query.userId),
      query.status && eq(issues.status, query.status),
      query.priority && eq(issues.priority, query.priority),
    )
    const rows = await selectReported(ctx)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(issues, filters) : undefined)
  },
)

export const update = write(
  'issues.update',
  admin,
  async (ctx, { id, ...patch }: IssuePatch & { id: string }): Promise<ReportedIssue> => {
    const before = await findIssue(ctx, id)
    checkVersion(ctx, before)
    const answered = patch.answer !== undefined && patch.answer !== before.answer
    await updateVersioned(ctx, issues, {
      columns: { id: issues.id, version: issues.version },
      before,
      set: {
        ...patch,
        ...(answered &&
          (patch.answer
            ? { answeredById: ctx.actor.userId, answeredAt: ctx.now }
            : { answeredById: null, answeredAt: null })),
      },
      what: 'this issue',
      again: () => findIssue(ctx, id),
    })
    const { reporter, ...after } = await findIssue(ctx, id)
    ctx.emit(issueUpdated, {
      subjectId: id,
      userId: reporter.id,
      data: { fields: Object.keys(patch), status: after.status },
    })
    const closed = after.status === 'closed' && before.status !== 'closed'
    const news = answered && after.answer ? 'Your report was answered' : closed ? 'Your report was closed' : undefined
    if (news)
      await notify(ctx, {
        userId: reporter.id,
        type: closed ? 'success' : 'info',
        reason: 'issue',
        title: `${news}: ${after.title}`,
        message: after.answer ?? undefined,
        link: '/issues',
      })
    return { ...after, reporter }
  },
  { versioned: true },
)
