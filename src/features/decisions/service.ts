import { eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { hasAll, matches, newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import { linkedRecords } from '../links/linked-records.ts'
import { settleNotifications } from '../notifications/service.ts'
import { type ProjectFilter, projectFilterWithProject, projectOf } from '../projects/current.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import { commentOnDecision, commentsOn } from './comments.ts'
import { decisionLogged, decisionUpdated } from './events.ts'
import { notifyDeciders } from './proposal-notices.ts'
import { canCreate, decisionPermissions, decisionWriteRule } from './refusals.ts'
import { decisionEvent, findDecision, selectItems, visibleTo, withAuthor } from './rows.ts'
import type {
  Alternative,
  Decision,
  DecisionCreate,
  DecisionDetail,
  DecisionLogged,
  DecisionPage,
  DecisionPatch,
  DecisionQuery,
} from './schema.ts'
import { findReplaceable, similarDecisions, supersedeByAccepted, supersedeDecision } from './superseding.ts'
import { decisionComments, decisions } from './table.ts'

const orders = { updatedAt: decisions.updatedAt, createdAt: decisions.createdAt }

/** SQL condition: the decision, its alternatives or one of its comments contain the words. */
const hasWords = (text: string): SQL =>
  or(
    matches(decisions.search, text),
    matches(decisions.searchAlternatives, text),
    sql`${decisions.id} in (select ${decisionComments.decisionId} from ${decisionComments}
      where ${matches(decisionComments.search, text)})`,
  )

export const list = read(
  'decisions.list',
  member('decisions:read'),
  async (ctx, query: DecisionQuery & ProjectFilter): Promise<DecisionPage> => {
    const page = keyset(orders, decisions.id, query, { sort: 'updatedAt' })
    const { id: projectId, project } = await projectFilterWithProject(ctx, query)
    const filters = and(
      projectId ? eq(decisions.projectId, projectId) : eq(decisions.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(decisions.status, query.status),
      hasAll(decisions.tags, query.tag),
      query.search ? hasWords(query.search) : undefined,
    )
    const rows = await selectItems(ctx, page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const seen = and(filters, visibleTo(rightsOf(ctx.actor)))
    const total = query.total ? await ctx.db.$count(decisions, seen) : undefined
    return { ...page.page(rows.map(withAuthor), total), can: { create: canCreate(ctx, project) } }
  },
)

const detailOf = async (ctx: Ctx, decision: Decision): Promise<DecisionDetail> => ({
  ...decision,
  discussion: await commentsOn(ctx, decision.id),
  links: await linkedRecords(ctx, decision),
  can: await decisionPermissions(ctx, decision),
})

export const get = read(
  'decisions.get',
  member('decisions:read'),
  async (ctx, { ref }: { ref: string }): Promise<DecisionDetail> => detailOf(ctx, await findDecision(ctx, ref)),
)

export const create = write(
  'decisions.create',
  decisionWriteRule,
  async (ctx, input: DecisionCreate & { id?: string }): Promise<DecisionLogged> => {
    const project = await projectOf(ctx, input.projectId)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    if (project) requireOpenProject(ctx, project, 'Logging a decision')
    else requireRole(ctx.actor, place.organizationId, 'member', 'Logging a decision')
    const id = input.id ?? newId()
    const status = input.status ?? 'accepted'
    const old =
      input.supersedes === undefined ? undefined : await findReplaceable(ctx, input.supersedes, place.organizationId)
    const author = currentUserOrAgent(ctx)
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
      alternatives: toAlternatives(input.alternatives ?? []),
      status,
      tags: input.tags ?? [],
      supersedes: old?.id,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const decision = await findDecision(ctx, id)
    ctx.emit(decisionLogged, decisionEvent(decision))
    if (status === 'proposed') await notifyDeciders(ctx, decision)
    if (old && status === 'accepted') await supersedeDecision(ctx, old, id)
    return { ...decision, similar: await similarDecisions(ctx, decision) }
  },
)

const toAlternatives = (given: readonly (string | Alternative)[]): Alternative[] =>
  given.map((a) => (typeof a === 'string' ? { option: a } : a))

export const update = write(
  'decisions.update',
  decisionWriteRule,
  async (ctx, { ref, ...patch }: DecisionPatch & { ref: string }): Promise<Decision> => {
    const before = await findDecision(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this decision')
    checkVersion(ctx, before)
    if (before.supersededById && patch.status)
      throw new AppError('conflict', `This decision is superseded by ${before.supersededById}, so its status is final.`)
    const { alternatives, title, ...plain } = patch
    await updateVersioned(ctx, decisions, {
      columns: { id: decisions.id, version: decisions.version },
      before: { id: before.id, version: before.version },
      set: {
        ...plain,
        ...(title !== undefined && { title: title.trim() }),
        ...(alternatives && { alternatives: toAlternatives(alternatives) }),
      },
      what: 'this decision',
      again: () => findDecision(ctx, before.id),
    })
    const after = await findDecision(ctx, before.id)
    ctx.emit(
      decisionUpdated,
      decisionEvent(after, {
        fields: Object.keys(patch),
        ...(patch.status && { from: before.status }),
      }),
    )
    if (before.status === 'proposed' && after.status !== 'proposed')
      await settleNotifications(ctx, { id: after.id, reasons: ['decision'] })
    // A proposal supersedes the earlier decision only when it is accepted.
    if (after.supersedes && after.status === 'accepted' && before.status !== 'accepted')
      await supersedeByAccepted(ctx, after, after.supersedes)
    return after
  },
  { versioned: true },
)

interface Addition {
  ref: string
  body?: string
  outcome?: string
}

/** Adds a comment, an outcome or both to a decision, and returns it. */
export const add = write(
  'decisions.add',
  decisionWriteRule,
  async (ctx, { ref, body, outcome }: Addition): Promise<DecisionDetail> => {
    if (body !== undefined) await commentOnDecision(ctx, { ref, body })
    if (outcome !== undefined) await update(ctx, { ref, outcome })
    return detailOf(ctx, await findDecision(ctx, ref))
  },
)

interface AdditionResult {
  id: string
  added: string[]
}

/** For the tool `log_decision`: creates a decision, or adds to the one that `ref` names. */
export const log = write(
  'decisions.log',
  decisionWriteRule,
  async (ctx, input: DecisionCreate | Addition): Promise<DecisionLogged | AdditionResult> => {
    if (!('ref' in input)) return create(ctx, input)
    const { id } = await add(ctx, input)
    const { body, outcome } = input
    return { id, added: [...(body === undefined ? [] : ['comment']), ...(outcome === undefined ? [] : ['outcome'])] }
  },
)
