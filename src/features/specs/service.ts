import { eq, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, throwIfRefused } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { matches, newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { requireContentSize } from '../../records/content-size.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { slugify, uniqueSlug } from '../../text/text.ts'
import { linkedRecords } from '../links/linked-records.ts'
import { type ProjectFilter, projectFilterWithProject } from '../projects/current.ts'
import { lockTeam } from '../projects/names.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import { findPlanningProject } from '../tasks/places.ts'
import { specCreated, specUpdated } from './events.ts'
import { archivedRefusal, canCreate, specPermissions, specWriteRule } from './refusals.ts'
import { findSpec, isLiveSpec, specEvent, specItemColumns, specsWithProject, visibleTo } from './rows.ts'
import {
  CONTENT_BYTES,
  type Spec,
  type SpecCreate,
  type SpecDetail,
  type SpecItem,
  type SpecPage,
  type SpecPatch,
  type SpecQuery,
  type SpecUpdated,
} from './schema.ts'
import { specs } from './table.ts'
import { compareVersions, storeVersion, versionOf } from './versions.ts'

const orders = { updatedAt: specs.updatedAt, createdAt: specs.createdAt }

/** Lists a project's specs; without a project, those of the current team. */
export const list = read(
  'specs.list',
  member('specs:read'),
  async (ctx, query: SpecQuery & ProjectFilter): Promise<SpecPage> => {
    const page = keyset(orders, specs.id, query, { sort: 'updatedAt' })
    const { id: projectId, project } = await projectFilterWithProject(ctx, query)
    const filters = and(
      visibleTo(rightsOf(ctx.actor)),
      projectId ? eq(specs.projectId, projectId) : eq(specs.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(specs.status, query.status),
      query.search ? matches(specs.search, query.search) : undefined,
    )
    const rows: SpecItem[] = await ctx.db
      .select(specItemColumns)
      .from(specs)
      .innerJoin(projectTable, eq(projectTable.id, specs.projectId))
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(specsWithProject, filters) : undefined
    return { ...page.page(rows, total), can: { create: canCreate(ctx, project) } }
  },
)

/** Returns a spec, as it is or at a version. */
export const get = read(
  'specs.get',
  member('specs:read'),
  async (ctx, { ref, version }: { ref: string; version?: number }): Promise<SpecDetail> => {
    const found = await findSpec(ctx, ref)
    const spec = { ...found, links: await linkedRecords(ctx, found), can: await specPermissions(ctx, found) }
    if (version === undefined || version === spec.version) return spec
    const { title, content, status, createdAt } = await versionOf(ctx, spec, version)
    return { ...spec, title, content, status: status as Spec['status'], version, updatedAt: createdAt }
  },
)

/** Returns a spec with its links and, with `diffWith`, what changed since that version. */
export const detail = read(
  'specs.detail',
  member('specs:read'),
  async (
    ctx,
    { diffWith, ...input }: { ref: string; version?: number; diffWith?: number },
  ): Promise<SpecDetail & { diff?: string }> => {
    const spec = await get(ctx, input)
    if (diffWith === undefined) return spec
    const { diff } = await compareVersions(ctx, { ref: spec.id, from: diffWith, to: spec.version })
    return { ...spec, diff }
  },
)

export const create = write(
  'specs.create',
  specWriteRule,
  async (ctx, input: SpecCreate & { id?: string }): Promise<Spec> => {
    requireContentSize(input.content, CONTENT_BYTES)
    const project = await findPlanningProject(ctx, input.projectId)
    await lockTeam(ctx, project.organizationId)
    const id = input.id ?? newId()
    const status = input.status ?? 'draft'
    const title = input.title.trim()
    await ctx.db.insert(specs).values({
      id,
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      title,
      slug: await freeSlug(ctx, project.organizationId, title),
      content: input.content,
      status,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const spec = await findSpec(ctx, id)
    await storeVersion(ctx, spec, input.message)
    ctx.emit(specCreated, specEvent(spec))
    return spec
  },
)

/** Every change makes a version. The caller names the version that the change is based on. */
export const update = flow(
  'specs.update',
  specWriteRule,
  async (ctx, patch: SpecPatch & { ref: string }, keyed): Promise<SpecUpdated> => {
    const { made, ...spec } = await reviseSpec(keyed, patch)
    // Outside the transaction, because a comparison can be slow.
    const { added, removed } = made
      ? await compareVersions(ctx, { ref: spec.id, from: spec.version - 1, to: spec.version })
      : { added: 0, removed: 0 }
    return { ...spec, change: { added, removed } }
  },
  { versioned: true },
)

export const reviseSpec = write(
  'specs.revise',
  specWriteRule,
  async (
    ctx,
    { ref, message, baseVersion, ...patch }: SpecPatch & { ref: string },
  ): Promise<Spec & { made: boolean }> => {
    if (patch.content !== undefined) requireContentSize(patch.content, CONTENT_BYTES)
    const before = await findSpec(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this spec')
    // Callers may send either field; if they send both, both have to match.
    checkBase(before, baseVersion ?? ctx.expectedVersion)
    checkBase(before, ctx.expectedVersion ?? baseVersion)
    const changed = Object.fromEntries(
      Object.entries({ ...patch, ...(patch.title !== undefined && { title: patch.title.trim() }) }).filter(
        ([name, value]) => value !== undefined && value !== before[name as keyof Spec],
      ),
    ) as Partial<Pick<Spec, 'title' | 'content' | 'status'>>
    if (Object.keys(changed).length === 0) return { ...before, made: false }
    checkStatusChange(before, changed)
    await updateVersioned(ctx, specs, {
      columns: { id: specs.id, version: specs.version },
      before: { id: before.id, version: before.version },
      set: changed,
      what: 'this spec',
      again: () => findSpec(ctx, before.id),
    })
    const after = await findSpec(ctx, before.id)
    await storeVersion(ctx, after, message)
    ctx.emit(
      specUpdated,
      specEvent(after, {
        fields: Object.keys(changed),
        ...(changed.status && { from: before.status }),
      }),
    )
    return { ...after, made: true }
  },
  { versioned: true },
)

function checkBase(current: Spec, base: number | undefined): void {
  if (base === current.version) return
  const why =
    base === undefined
      ? `Send the version that you changed (expectedVersion, baseVersion or If-Match). It is now ${current.version}.`
      : `The spec is now at version ${current.version}, not ${base}. Read what changed and apply your change to it.`
  throw new AppError('version_mismatch', why, { current })
}

function checkStatusChange(before: Spec, { status: to }: Partial<Spec>): void {
  if (to !== 'draft') throwIfRefused(archivedRefusal(before))
}

/** Slugs are unique in the team, so that a slug from a list identifies the spec. */
async function freeSlug(ctx: Ctx, organizationId: string, title: string): Promise<string> {
  const base = slugify(title) || 'spec'
  const rows = await ctx.db
    .select({ slug: specs.slug })
    .from(specs)
    .where(and(eq(specs.organizationId, organizationId), isLiveSpec, sql`${specs.slug} like ${`${base}%`}`))
  return uniqueSlug(base, new Set(rows.map((r) => r.slug)))
}
