import { eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { permissionOf } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList, matches } from '../../db/columns.ts'
import { and, not } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { idsToFilterBy } from '../agents/users-and-agents.ts'
import { type ProjectFilter, projectFilterWithProject } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { projects as projectTable } from '../projects/table.ts'
import { ofTeamOrProject } from '../projects/visible.ts'
import {
  defaultWorkflow,
  gateProgress,
  isInReview,
  nextFeatureStep,
  workflowOf,
} from '../projects/workflow/workflow.ts'
import { blockersOf, missingBlockers } from './dependencies.ts'
import { openTasks } from './open-tasks.ts'
import { creationRefusal } from './refusals.ts'
import { featureColumns, type Row } from './rows.ts'
import type { Feature, FeatureItem, FeaturePage, FeatureQuery } from './schema.ts'
import { featureEvidence, featureReviews, features } from './table.ts'

/** The rule of `record.ts`; `state` can also include deleted features. */
export const visibleTo = (ctx: Ctx, state = isNull(features.deletedAt)): SQL =>
  and(state, ofTeamOrProject(features, rightsOf(ctx.actor)))

export interface Found {
  row: Row
  project: Project
}

/** Finds a feature by id or the unique beginning of its id, `within` a project if given. */
export async function findIn(ctx: Ctx, ref: string, within?: Project): Promise<Found> {
  const select = (match: SQL) =>
    ctx.db
      .select(featureColumns)
      .from(features)
      .where(and(match, visibleTo(ctx), within && eq(features.projectId, within.id)))
      .limit(2)
  const row = await findByReference<Row>(ref, {
    id: (id) => select(eq(features.id, id)),
    name: async () => [],
    prefix: (prefix) => select(idStartsWith(features.id, prefix)),
  })
  if (!row) throw notFound('feature', ref)
  return { row, project: within ?? (await projects.findProject(ctx, row.projectId)) }
}

/** A feature and, if the path names one, the project that it has to belong to. */
export interface Ref {
  ref: string
  project?: string
}

export const findFeatureByRef = async (ctx: Ctx, { ref, project }: Ref) =>
  findIn(ctx, ref, project === undefined ? undefined : await projects.findProject(ctx, project))

/**
 * Returns the gates passed since changes were last requested, because earlier evidence was about another state of the
 * work. Evidence from before a gate was reopened does not count either.
 */
async function passedGates(ctx: Ctx, ids: string[]): Promise<Map<string, Set<string>>> {
  const passed = new Map<string, Set<string>>(ids.map((id) => [id, new Set()]))
  if (ids.length === 0) return passed
  const since = (table: typeof featureEvidence | typeof featureReviews) =>
    sql`not exists (select 1 from ${featureReviews} later where later.feature_id = ${table.featureId}
      and later.verdict = 'changes_requested' and later.id > ${table.id})`
  const shown = await ctx.db
    .select({ id: featureEvidence.featureId, gate: featureEvidence.gate })
    .from(featureEvidence)
    .where(and(inArray(featureEvidence.featureId, ids), isNull(featureEvidence.reopenedAt), since(featureEvidence)))
  const approved = await ctx.db
    .select({ id: featureReviews.featureId })
    .from(featureReviews)
    .where(
      and(
        inArray(featureReviews.featureId, ids),
        eq(featureReviews.verdict, 'approved'),
        since(featureReviews),
        sql`not exists (select 1 from ${featureEvidence} e where e.feature_id = ${featureReviews.featureId}
          and e.reopened_at >= ${featureReviews.createdAt})`,
      ),
    )
  for (const { id, gate } of shown) passed.get(id)?.add(gate)
  for (const { id } of approved) passed.get(id)?.add('review')
  return passed
}

function itemOf(
  { description: _, assigneeType: type, assigneeId: id, assigneeName: name, ...row }: Row,
  gates: FeatureItem['gates'],
): FeatureItem {
  return { ...row, assignee: type && id && name ? { type, id, name } : null, gates }
}

export async function toFeature(ctx: Ctx, project: Project, row: Row): Promise<Feature> {
  const workflow = workflowOf(project)
  const passed = (await passedGates(ctx, [row.id])).get(row.id) as Set<string>
  const blockers = await blockersOf(ctx, row.id)
  const ahead = nextFeatureStep(workflow, row)
  return {
    ...itemOf(row, gateProgress(workflow, row.kind, passed)),
    description: row.description,
    blockedBy: blockers.map(({ id }) => id),
    next: ahead && {
      to: ahead.to,
      missing: [
        ...ahead.missing,
        ...missingBlockers(workflow, blockers),
        ...(await openTasks(ctx, project, row, ahead.to)),
      ],
    },
  }
}

export interface FeatureFilter extends FeatureQuery, ProjectFilter {
  /** Leaves out projects of other teams in shared workspaces. */
  ofTeam?: boolean
}

const defaultTransitions = JSON.stringify(defaultWorkflow.transitions)
const transitions = sql`(select coalesce(of.settings -> 'workflow' -> 'transitions', ${defaultTransitions}::text::jsonb)
  from ${projectTable} of where of.id = ${features.projectId})`
/** SQL condition: the workflow of the feature's project has a transition out of its state. */
const isOpenFeature = sql`${transitions}
  @> jsonb_build_array(jsonb_build_object('from', ${features.status}))`

/** SQL condition: `isAtGate` is true for the feature's state. */
const waitsAtGate = sql`jsonb_path_exists(${transitions},
  '$[*] ? (@.from == $state && (exists(@.gate) || @.by == "approved"))',
  jsonb_build_object('state', ${features.status}))`

/** Returns the condition for a filter by assignee: `me`, `none`, or a person or agent of the team. */
async function isAssignedTo(ctx: Ctx, ref: string | undefined): Promise<SQL | undefined> {
  if (ref === undefined) return undefined
  if (ref.trim().toLowerCase() === 'none') return isNull(features.assigneeId)
  return anyOf(features.assigneeId, idList(await idsToFilterBy(ctx, currentOrganization(ctx.actor), ref)))
}

export async function listFeatures(ctx: Ctx, query: FeatureFilter): Promise<FeaturePage> {
  const keys = { updatedAt: features.updatedAt, createdAt: features.createdAt, title: features.title }
  const paged = keyset(keys, features.id, query, { sort: 'updatedAt' })
  const { id: projectId, project } = await projectFilterWithProject(ctx, query)
  const filters = and(
    visibleTo(ctx),
    projectId ? eq(features.projectId, projectId) : undefined,
    projectId && !query.ofTeam ? undefined : eq(features.organizationId, currentOrganization(ctx.actor)),
    query.status === undefined ? undefined : eq(features.status, query.status),
    query.open === undefined ? undefined : query.open ? isOpenFeature : not(isOpenFeature),
    query.atGate === undefined ? undefined : query.atGate ? waitsAtGate : not(waitsAtGate),
    query.kind === undefined ? undefined : eq(features.kind, query.kind),
    await isAssignedTo(ctx, query.assignee),
    query.search ? matches(features.search, query.search) : undefined,
  )
  const rows: Row[] = await ctx.db
    .select(featureColumns)
    .from(features)
    .where(paged.where(filters))
    .orderBy(...paged.orderBy)
    .limit(paged.limit)
  const total = query.total ? await ctx.db.$count(features, filters) : undefined
  const found = paged.page(rows, total)
  const passed = await passedGates(
    ctx,
    found.items.map(({ id }) => id),
  )
  const workflows = await workflowsOf(ctx, found.items)
  return {
    ...found,
    can: { create: permissionOf(creationRefusal(ctx, project)) },
    items: found.items.map((row) => {
      const workflow = workflows.get(row.projectId) ?? workflowOf({ settings: {} })
      return itemOf(row, gateProgress(workflow, row.kind, passed.get(row.id) as Set<string>))
    }),
  }
}

/** Returns the features of a project that wait for a verdict, the one that waits longest first. */
export async function featuresInReview(ctx: Ctx, project: Project): Promise<Pick<Row, 'id' | 'title'>[]> {
  const workflow = workflowOf(project)
  const states = workflow.states.filter((state) => isInReview(workflow, state))
  if (states.length === 0) return []
  return ctx.db
    .select({ id: features.id, title: features.title })
    .from(features)
    .where(and(visibleTo(ctx), eq(features.projectId, project.id), inArray(features.status, states)))
    .orderBy(features.updatedAt, features.id)
    .limit(10)
}

async function workflowsOf(ctx: Ctx, rows: Row[]) {
  const ids = [...new Set(rows.map((row) => row.projectId))]
  if (ids.length === 0) return new Map()
  const found = await ctx.db
    .select({ id: projectTable.id, settings: projectTable.settings })
    .from(projectTable)
    .where(inArray(projectTable.id, ids))
  return new Map(found.map((project) => [project.id, workflowOf(project)]))
}
