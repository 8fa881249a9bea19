import { eq } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { quoteName, quoteText } from '../../text/quoting.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import { compareTexts } from './compare.ts'
import { findSpec } from './rows.ts'
import type { Comparison, Spec, SpecVersions, VersionQuery } from './schema.ts'
import { specVersions } from './table.ts'

export async function versionOf(ctx: Ctx, spec: Spec, version: number) {
  const [found] = await ctx.db
    .select({
      title: specVersions.title,
      content: specVersions.content,
      status: specVersions.status,
      createdAt: specVersions.createdAt,
    })
    .from(specVersions)
    .where(and(eq(specVersions.specId, spec.id), eq(specVersions.version, version)))
  if (!found)
    throw new AppError('not_found', `${quoteText(spec.title)} has no version ${version}; it has 1 to ${spec.version}.`)
  return found
}

export const listVersions = read(
  'specs.versions',
  member('specs:read'),
  async (ctx, { ref, ...query }: VersionQuery & { ref: string }): Promise<SpecVersions> => {
    const { id, version } = await findSpec(ctx, ref)
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

export const compareVersions = read(
  'specs.compare',
  member('specs:read'),
  async (ctx, { ref, from, to: other }: { ref: string; from: number; to?: number }): Promise<Comparison> => {
    const spec = await findSpec(ctx, ref)
    const to = other ?? spec.version
    const [a, b] = [await versionOf(ctx, spec, from), await versionOf(ctx, spec, to)]
    const nameOf = (version: number, { title, status }: typeof a) =>
      `${spec.slug} v${version} (${quoteName(title)}, ${status})`
    return { from, to, ...(await compareTexts(a.content, b.content, { from: nameOf(from, a), to: nameOf(to, b) })) }
  },
)

export async function storeVersion(ctx: Ctx, spec: Spec, message: string | undefined): Promise<void> {
  const { type, id, name } = currentUserOrAgent(ctx)
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
