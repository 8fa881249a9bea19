import { count, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { matches, newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { byReference, changeVersioned, idStarts } from '../../records/rows.ts'
import { slugify, untaken } from '../../text/text.ts'
import { speaker } from '../agents/parties.ts'
import { linkedWith } from '../links/linked.ts'
import type { LinkedRecord } from '../links/schema.ts'
import { defaultProject, projectOf } from '../projects/current.ts'
import { takeTurns } from '../projects/names.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { projectFor } from '../tasks/service.ts'
import { changeOf } from './compare.ts'
import { specCreated, specUpdated } from './events.ts'
import {
  CONTENT_BYTES,
  type Comparison,
  type Spec,
  type SpecCreate,
  type SpecItem,
  type SpecPage,
  type SpecPatch,
  type SpecQuery,
  type SpecUpdated,
  type SpecVersions,
  type VersionQuery,
} from './schema.ts'
import { specs, specVersions } from './table.ts'

const item = {
  id: specs.id,
  createdAt: specs.createdAt,
  updatedAt: specs.updatedAt,
  version: specs.version,
  organizationId: specs.organizationId,
  projectId: specs.projectId,
  createdById: specs.createdById,
  title: specs.title,
  slug: specs.slug,
  status: specs.status,
}
const columns = { ...item, content: specs.content }

const live = isNull(specs.deletedAt)
const visibleTo = (rights: Rights): SQL => and(live, projects.visibleTo(rights))
/** By id, slug, or the unique beginning of an id. */
export async function find(ctx: Ctx, ref: string, within?: { id: string }): Promise<Spec> {
  const rights = rightsOf(ctx.actor)
  const select = (match: SQL | undefined) =>
    ctx.db
      .select(columns)
      .from(specs)
      .innerJoin(projectTable, eq(projectTable.id, specs.projectId))
      .where(and(match, visibleTo(rights)))
      .$dynamic()
  const here = within ? eq(specs.projectId, within.id) : eq(specs.organizationId, currentOrganization(ctx.actor))
  const found = await byReference<Spec>(ref, {
    id: (id) => select(eq(specs.id, id)),
    name: async (slug) => {
      const found = await select(and(here, eq(specs.slug, slug.toLowerCase()))).limit(5)
      if (found.length < 2) return found
      // A project that came from another team brought one that was taken here.
      const project = await defaultProject(ctx)
      const own = found.filter((spec) => spec.projectId === project?.id)
      if (own.length === 0)
        throw new AppError(
          'conflict',
          `Several projects have a spec "${slug}". Name it by its id: ${found.map((s) => s.id).join(', ')}.`,
        )
      return own
    },
    prefix: (prefix) => select(and(here, idStarts(specs.id, prefix))).limit(2),
  })
  if (!found) throw notFound('spec', ref)
  return found
}

export const list = read('specs.list', member('specs:read'), async (ctx, query: SpecQuery): Promise<SpecPage> => {
  const page = keyset({ updatedAt: specs.updatedAt, createdAt: specs.createdAt }, specs.id, query, {
    sort: 'updatedAt',
  })
  const filters = and(
    visibleTo(rightsOf(ctx.actor)),
    query.projectId ? eq(specs.projectId, query.projectId) : eq(specs.organizationId, currentOrganization(ctx.actor)),
    query.status && eq(specs.status, query.status),
    query.search ? matches(specs.search, query.search) : undefined,
  )
  const rows: SpecItem[] = await ctx.db
    .select(item)
    .from(specs)
    .innerJoin(projectTable, eq(projectTable.id, specs.projectId))
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const counted = query.total
    ? await ctx.db
        .select({ n: count() })
        .from(specs)
        .innerJoin(projectTable, eq(projectTable.id, specs.projectId))
        .where(filters)
    : undefined
  return page.page(rows, counted?.[0]?.n)
})

/** The same for whoever names a project as people do, or is at work in one. */
export const listNamed = read(
  'specs.listNamed',
  member('specs:read'),
  async (ctx, { project: ref, ...query }: SpecQuery & { project?: string }): Promise<SpecPage> => {
    const project = await projectOf(ctx, ref)
    return list(ctx, project ? { ...query, projectId: project.id } : query)
  },
)

/** As it is, or as it was. */
export const get = read(
  'specs.get',
  member('specs:read'),
  async (ctx, { ref, version }: { ref: string; version?: number }): Promise<Spec> => {
    const spec = await find(ctx, ref)
    if (version === undefined || version === spec.version) return spec
    const { title, content, status, createdAt } = await versionOf(ctx, spec, version)
    return { ...spec, title, content, status: status as Spec['status'], version, updatedAt: createdAt }
  },
)

/** With what it is linked with and, when asked, what changed since another version. */
export const detail = read(
  'specs.detail',
  member('specs:read'),
  async (
    ctx,
    { diffWith, ...input }: { ref: string; version?: number; diffWith?: number },
  ): Promise<Spec & { links: LinkedRecord[]; diff?: string }> => {
    const found = await get(ctx, input)
    const spec = { ...found, links: await linkedWith(ctx, found) }
    if (diffWith === undefined) return spec
    const { diff } = await compare(ctx, { ref: spec.id, from: diffWith, to: spec.version })
    return { ...spec, diff }
  },
)

async function versionOf(ctx: Ctx, spec: Spec, version: number) {
  const [found] = await ctx.db
    .select({
      title: specVersions.title,
      content: specVersions.content,
      status: specVersions.status,
      createdAt: specVersions.createdAt,
    })
    .from(specVersions)
    .where(and(eq(specVersions.specId, spec.id), eq(specVersions.version, version)))
  if (!found) throw new AppError('not_found', `${spec.title} has no version ${version}; it has 1 to ${spec.version}.`)
  return found
}

export const versions = read(
  'specs.versions',
  member('specs:read'),
  async (ctx, { ref, ...query }: VersionQuery & { ref: string }): Promise<SpecVersions> => {
    const { id, version } = await find(ctx, ref)
    const page = keyset({ version: specVersions.version }, specVersions.specId, query, { sort: 'version' })
    const rows = await ctx.db
      .select({
        id: specVersions.specId,
        version: specVersions.version,
        title: specVersions.title,
        status: specVersions.status,
        message: specVersions.message,
        authorType: specVersions.authorType,
        authorId: specVersions.authorId,
        authorName: specVersions.authorName,
        createdAt: specVersions.createdAt,
      })
      .from(specVersions)
      .where(page.where(eq(specVersions.specId, id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const { items, ...rest } = page.page(rows, query.total ? version : undefined)
    return {
      ...rest,
      items: items.map(({ id: _, authorType: type, authorId, authorName: name, status, ...entry }) => ({
        ...entry,
        status: status as Spec['status'],
        author: { type, id: authorId, name },
      })),
    }
  },
)

export const compare = read(
  'specs.compare',
  member('specs:read'),
  async (ctx, { ref, from, to: other }: { ref: string; from: number; to?: number }): Promise<Comparison> => {
    const spec = await find(ctx, ref)
    const to = other ?? spec.version
    const [a, b] = [await versionOf(ctx, spec, from), await versionOf(ctx, spec, to)]
    const nameOf = (version: number, { title, status }: typeof a) =>
      `${spec.slug} v${version} (${title.replace(/\s+/g, ' ')}, ${status})`
    return { from, to, ...(await changeOf(a.content, b.content, { from: nameOf(from, a), to: nameOf(to, b) })) }
  },
)

// ---- writing

export const create = write('specs.create', member('specs:write'), async (ctx, input: SpecCreate): Promise<Spec> => {
  checkContent(input.content)
  const project = await projectFor(ctx, input.projectId)
  await takeTurns(ctx, project.organizationId)
  const id = newId()
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
  const spec = await find(ctx, id)
  await keep(ctx, spec, input.message)
  ctx.emit(specCreated, about(spec))
  return spec
})

/** Every change is a version of its own; whoever writes says which one his is based on. */
export const update = flow(
  'specs.update',
  member('specs:write'),
  async (ctx, patch: SpecPatch & { ref: string }, keyed): Promise<SpecUpdated> => {
    const { made, ...spec } = await revise(keyed, patch)
    // Outside the transaction: a comparison may take its time.
    const { added, removed } = made
      ? await compare(ctx, { ref: spec.id, from: spec.version - 1, to: spec.version })
      : { added: 0, removed: 0 }
    return { ...spec, change: { added, removed } }
  },
  { versioned: true },
)

const revise = write(
  'specs.revise',
  member('specs:write'),
  async (
    ctx,
    { ref, message, baseVersion, ...patch }: SpecPatch & { ref: string },
  ): Promise<Spec & { made: boolean }> => {
    if (patch.content !== undefined) checkContent(patch.content)
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this spec')
    // By either way to say it, and by both where both are used.
    checkBase(before, baseVersion ?? ctx.expectedVersion)
    checkBase(before, ctx.expectedVersion ?? baseVersion)
    const changed = Object.fromEntries(
      Object.entries({ ...patch, ...(patch.title !== undefined && { title: patch.title.trim() }) }).filter(
        ([name, value]) => value !== undefined && value !== before[name as keyof Spec],
      ),
    ) as Partial<Pick<Spec, 'title' | 'content' | 'status'>>
    if (Object.keys(changed).length === 0) return { ...before, made: false }
    checkMove(before, changed)
    await changeVersioned(ctx, specs, {
      columns: { id: specs.id, version: specs.version },
      before: { id: before.id, version: before.version },
      set: changed,
      what: 'this spec',
      again: () => find(ctx, before.id),
    })
    const after = await find(ctx, before.id)
    await keep(ctx, after, message)
    ctx.emit(
      specUpdated,
      about(after, {
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
      ? `Say which version your change is based on (expectedVersion, baseVersion or If-Match); it is at ${current.version} now.`
      : `It is at version ${current.version} now, not ${base}. Read what changed, and repeat yours on top of it.`
  throw new AppError('version_mismatch', why, { current })
}

/** What is archived is history until it is taken up as a draft again. */
function checkMove({ status: from, title }: Spec, { status: to }: Partial<Spec>): void {
  if (from === 'archived' && to !== 'draft')
    throw new AppError('conflict', `"${title}" is archived. Make it a draft again first: status draft.`)
}

async function keep(ctx: Ctx, spec: Spec, message: string | undefined): Promise<void> {
  const { type, id, name } = speaker(ctx)
  await ctx.db.insert(specVersions).values({
    specId: spec.id,
    version: spec.version,
    title: spec.title,
    content: spec.content,
    status: spec.status,
    message,
    authorType: type,
    authorId: id,
    authorName: name,
    createdAt: ctx.now,
  })
}

/** In the whole team: what a list shows must be enough to find it again. */
async function freeSlug(ctx: Ctx, organizationId: string, title: string): Promise<string> {
  const base = slugify(title) || 'spec'
  const rows = await ctx.db
    .select({ slug: specs.slug })
    .from(specs)
    .where(and(eq(specs.organizationId, organizationId), live, sql`${specs.slug} like ${`${base}%`}`))
  return untaken(base, new Set(rows.map((r) => r.slug)))
}

function checkContent(content: string): void {
  if (Buffer.byteLength(content) > CONTENT_BYTES) throw invalid('/content', 'content exceeds 256 KiB.', 'too_long')
}

const about = <D extends object>(spec: Spec, data?: D) => ({
  subjectId: spec.id,
  organizationId: spec.organizationId,
  projectId: spec.projectId,
  data: Object.assign({ title: spec.title, status: spec.status, version: spec.version }, data),
})
