import { count, desc, eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { matches, newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { byReference, changeVersioned, idStarts } from '../../records/rows.ts'
import { speaker } from '../agents/parties.ts'
import { linkedWith } from '../links/linked.ts'
import { projectOf } from '../projects/current.ts'
import { tellMentioned } from '../projects/mentions.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { decisionCommented, decisionLogged, decisionSuperseded, decisionUpdated } from './events.ts'
import type {
  Alternative,
  Comment,
  Decision,
  DecisionCreate,
  DecisionDetail,
  DecisionItem,
  DecisionLogged,
  DecisionPage,
  DecisionPatch,
  DecisionQuery,
} from './schema.ts'
import { decisionComments, decisions } from './table.ts'

const short = {
  id: decisions.id,
  createdAt: decisions.createdAt,
  updatedAt: decisions.updatedAt,
  version: decisions.version,
  organizationId: decisions.organizationId,
  projectId: decisions.projectId,
  title: decisions.title,
  status: decisions.status,
  tags: decisions.tags,
  authorType: decisions.authorType,
  authorId: decisions.authorId,
  authorName: decisions.authorName,
  supersedes: decisions.supersedes,
  supersededById: decisions.supersededById,
}
const columns = {
  ...short,
  context: decisions.context,
  decision: decisions.decision,
  rationale: decisions.rationale,
  alternatives: decisions.alternatives,
  outcome: decisions.outcome,
}
type Authored = { authorType: 'user' | 'agent'; authorId: string | null; authorName: string }
type Row = Omit<Decision, 'author'> & Authored
const withAuthor = <T extends Authored>({ authorType: type, authorId: id, authorName: name, ...rest }: T) => ({
  ...rest,
  author: { type, id, name },
})

/** Lists carry no bodies. */
const item = {
  ...short,
  excerpt: sql<string>`case when length(${decisions.decision}) > 160 then left(${decisions.decision}, 159) || '…'
      else ${decisions.decision} end`,
}

const visibleTo = liveOfTeamOrProject(decisions)

const select = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(columns)
    .from(decisions)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

const selectItems = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(item)
    .from(decisions)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

export async function find(ctx: Ctx, ref: string): Promise<Decision> {
  const found = await byReference<Row>(ref, {
    id: (id) => select(ctx, eq(decisions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(ctx, idStarts(decisions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('decision', ref)
  return withAuthor(found)
}

export const list = read(
  'decisions.list',
  member('decisions:read'),
  async (ctx, query: DecisionQuery): Promise<DecisionPage> => {
    const page = keyset({ updatedAt: decisions.updatedAt, createdAt: decisions.createdAt }, decisions.id, query, {
      sort: 'updatedAt',
    })
    const filters = and(
      query.projectId
        ? eq(decisions.projectId, query.projectId)
        : eq(decisions.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(decisions.status, query.status),
      query.tag === undefined ? undefined : sql`${decisions.tags} @> array[${query.tag}]::text[]`,
      query.search ? matches(decisions.search, query.search) : undefined,
    )
    const rows = await selectItems(ctx, page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total
      ? (
          await ctx.db
            .select({ n: count() })
            .from(decisions)
            .where(and(filters, visibleTo(rightsOf(ctx.actor))))
        )[0]?.n
      : undefined
    return page.page(rows.map(withAuthor), total)
  },
)

/** The same for whoever names a project as people do, or is at work in one. */
export const listNamed = read(
  'decisions.listNamed',
  member('decisions:read'),
  async (ctx, { project: ref, ...query }: DecisionQuery & { project?: string }): Promise<DecisionPage> => {
    const project = await projectOf(ctx, ref)
    return list(ctx, project ? { ...query, projectId: project.id } : query)
  },
)

/** Those of a project and of its whole team, the last ones first. */
export async function about(ctx: Ctx, project: Project, status: Decision['status']): Promise<DecisionItem[]> {
  const rows = await selectItems(ctx, and(near(project), eq(decisions.status, status)))
    .orderBy(desc(decisions.updatedAt), desc(decisions.id))
    .limit(12)
  return rows.map(withAuthor)
}

const near = ({ id, organizationId }: { id: string | null; organizationId: string }): SQL =>
  and(
    eq(decisions.organizationId, organizationId),
    or(isNull(decisions.projectId), id ? eq(decisions.projectId, id) : undefined),
  )

const LAST = 200

const detailOf = async (ctx: Ctx, decision: Decision): Promise<DecisionDetail> => {
  const rows = await ctx.db
    .select({
      id: decisionComments.id,
      authorType: decisionComments.authorType,
      authorId: decisionComments.authorId,
      authorName: decisionComments.authorName,
      body: decisionComments.body,
      createdAt: decisionComments.createdAt,
    })
    .from(decisionComments)
    .where(eq(decisionComments.decisionId, decision.id))
    .orderBy(desc(decisionComments.createdAt), desc(decisionComments.id))
    .limit(LAST)
  return { ...decision, discussion: rows.reverse().map(withAuthor), links: await linkedWith(ctx, decision) }
}

export const get = read(
  'decisions.get',
  member('decisions:read'),
  async (ctx, { ref }: { ref: string }): Promise<DecisionDetail> => detailOf(ctx, await find(ctx, ref)),
)

export const create = write(
  'decisions.create',
  member('decisions:write'),
  async (ctx, input: DecisionCreate): Promise<DecisionLogged> => {
    const project = await projectOf(ctx, input.projectId)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    await projects.requireWriter(ctx, place, 'Logging a decision')
    const id = newId()
    const status = input.status ?? 'accepted'
    const old =
      input.supersedes === undefined ? undefined : await replaceable(ctx, input.supersedes, place.organizationId)
    const author = speaker(ctx)
    await ctx.db.insert(decisions).values({
      id,
      ...place,
      createdById: ctx.actor.userId,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      title: input.title.trim(),
      context: input.context,
      decision: input.decision,
      rationale: input.rationale,
      alternatives: options(input.alternatives ?? []),
      status,
      tags: input.tags ?? [],
      supersedes: old?.id,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const decision = await find(ctx, id)
    ctx.emit(decisionLogged, facts(decision))
    if (old && status === 'accepted') await supersede(ctx, old, id)
    return { ...decision, similar: await similarTo(ctx, decision) }
  },
)

const options = (given: readonly (string | Alternative)[]): Alternative[] =>
  given.map((a) => (typeof a === 'string' ? { option: a } : a))

/**
 * One of the same team that nothing has replaced yet. It is always older than what replaces it, so there are no
 * circles.
 */
async function replaceable(ctx: Ctx, ref: string, organizationId: string): Promise<Decision> {
  const old = await find(ctx, ref)
  if (old.organizationId !== organizationId) throw notFound('decision', ref)
  await projects.requireWriter(ctx, old, 'Superseding a decision')
  if (old.supersededById) throw supersededAlready(old)
  return old
}

const supersededAlready = ({ title, supersededById }: Decision): AppError =>
  new AppError('conflict', `"${title}" is superseded already, by ${supersededById}. Supersede that one.`)

/** Of several at once, one does. */
async function supersede(ctx: Ctx, old: Decision, by: string): Promise<void> {
  const [done] = await ctx.db
    .update(decisions)
    .set({ status: 'superseded', supersededById: by, updatedAt: ctx.now, version: sql`${decisions.version} + 1` })
    .where(and(eq(decisions.id, old.id), isNull(decisions.supersededById)))
    .returning({ id: decisions.id })
  const after = await find(ctx, old.id)
  if (!done) throw supersededAlready(after)
  ctx.emit(decisionSuperseded, facts(after, { by }))
}

/** Earlier ones that have half of the title's words: whoever decides anew should know. */
async function similarTo(
  ctx: Ctx,
  { id, title, projectId, organizationId, supersedes }: Decision,
): Promise<DecisionLogged['similar']> {
  const words = [...new Set(title.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu))].slice(0, 12)
  if (words.length === 0) return []
  const shared = sql<number>`(${sql.join(
    words.map((word) => sql`(${decisions.search} @@ plainto_tsquery('simple', ${word}))::int`),
    sql` + `,
  )})`
  const rows = await selectItems(
    ctx,
    and(
      near({ id: projectId, organizationId }),
      ne(decisions.id, id),
      supersedes ? ne(decisions.id, supersedes) : undefined,
      isNull(decisions.supersededById),
      matches(decisions.search, words.join(' or ')),
      sql`${shared} * 2 >= ${words.length}`,
    ),
  )
    .orderBy(desc(shared), desc(decisions.updatedAt))
    .limit(5)
  return rows.map((row) => ({ id: row.id, title: row.title, status: row.status }))
}

export const update = write(
  'decisions.update',
  member('decisions:write'),
  async (ctx, { ref, ...patch }: DecisionPatch & { ref: string }): Promise<Decision> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this decision')
    checkVersion(ctx, before)
    if (before.supersededById && patch.status)
      throw new AppError('conflict', `This decision is superseded by ${before.supersededById}, and stays so.`)
    const { alternatives, title, ...plain } = patch
    await changeVersioned(ctx, decisions, {
      columns: { id: decisions.id, version: decisions.version },
      before: { id: before.id, version: before.version },
      set: {
        ...plain,
        ...(title !== undefined && { title: title.trim() }),
        ...(alternatives && { alternatives: options(alternatives) }),
      },
      what: 'this decision',
      again: () => find(ctx, before.id),
    })
    const after = await find(ctx, before.id)
    ctx.emit(
      decisionUpdated,
      facts(after, {
        fields: Object.keys(patch),
        ...(patch.status && { from: before.status }),
      }),
    )
    // What was only proposed replaces the earlier one when it is accepted.
    if (after.supersedes && after.status === 'accepted' && before.status !== 'accepted')
      await accepted(ctx, after, after.supersedes)
    return after
  },
  { versioned: true },
)

async function accepted(ctx: Ctx, decision: Decision, supersedes: string): Promise<void> {
  const old = await find(ctx, supersedes)
  if (old.supersededById === decision.id) return
  await supersede(ctx, await replaceable(ctx, supersedes, decision.organizationId), decision.id)
}

export const comment = write(
  'decisions.comment',
  member('decisions:write'),
  async (ctx, { ref, body }: { ref: string; body: string }): Promise<Comment> => {
    const decision = await find(ctx, ref)
    await projects.requireWriter(ctx, decision, 'Discussing this decision')
    const author = speaker(ctx)
    const values = {
      decisionId: decision.id,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      body,
      createdAt: ctx.now,
    }
    const [row] = await ctx.db.insert(decisionComments).values(values).returning({ id: decisionComments.id })
    ctx.emit(decisionCommented, facts(decision, { commentId: row?.id }))
    await tellMentioned(ctx, decision, body, {
      title: `${author.name} mentions you on ${decision.title}`,
      message: body,
      link: `/decisions/${decision.id}`,
    })
    return { id: (row as { id: string }).id, author, body, createdAt: ctx.now }
  },
)

interface Addition {
  ref: string
  body?: string
  outcome?: string
}

/** For the tool that reads a decision: what is added, and then all of it. */
export const add = write(
  'decisions.add',
  member('decisions:write'),
  async (ctx, { ref, body, outcome }: Addition): Promise<DecisionDetail> => {
    if (body !== undefined) await comment(ctx, { ref, body })
    if (outcome !== undefined) await update(ctx, { ref, outcome })
    return detailOf(ctx, await find(ctx, ref))
  },
)

const facts = <D extends object>(decision: Decision, data?: D) => ({
  subjectId: decision.id,
  organizationId: decision.organizationId,
  projectId: decision.projectId,
  data: Object.assign({ title: decision.title, status: decision.status, version: decision.version }, data),
})
