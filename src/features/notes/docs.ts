import { count, eq, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import { LINKS, namedBy, naming } from './links.ts'
import type { DocQuery, ProjectDoc, ProjectDocPage } from './schema.ts'
import { notes } from './table.ts'

/** The documents that a project publishes: its public notes, while it is public itself. Both are said on purpose. */
interface PublicProject {
  team: string
  project: string
}

const item = {
  title: notes.title,
  slug: notes.slug,
  tags: notes.tags,
  createdAt: notes.createdAt,
  updatedAt: notes.updatedAt,
  author: { handle: users.handle, name: users.name },
}

const published = (projectId: string): SQL =>
  and(eq(notes.projectId, projectId), sql`${notes.scope} = 'public'`, isNull(notes.deletedAt))

async function publicProject(
  ctx: Ctx,
  { team, project }: PublicProject,
): Promise<{ id: string; name: string; slug: string }> {
  const [found] = await ctx.db
    .select({ id: projects.id, name: projects.name, slug: projects.slug })
    .from(projects)
    .innerJoin(organizations, eq(organizations.id, projects.organizationId))
    .where(
      and(
        eq(organizations.slug, team.toLowerCase()),
        isNull(organizations.deletedAt),
        isNull(organizations.sandboxOf),
        eq(projects.slug, project.toLowerCase()),
        eq(projects.visibility, 'public'),
        isNull(projects.deletedAt),
      ),
    )
  if (!found) throw notFound('project', `${team}/${project}`)
  return found
}

export const list = read(
  'notes.listDocs',
  anyone,
  async (ctx, { team, project, ...query }: DocQuery & PublicProject): Promise<ProjectDocPage> => {
    const { id } = await publicProject(ctx, { team, project })
    const page = keyset(
      { title: notes.title, updatedAt: notes.updatedAt, createdAt: notes.createdAt },
      notes.id,
      query,
      {
        sort: 'title',
        order: query.sort && query.sort !== 'title' ? 'desc' : 'asc',
      },
    )
    const rows = await ctx.db
      .select({ id: notes.id, ...item })
      .from(notes)
      .leftJoin(users, eq(users.id, notes.createdById))
      .where(page.where(published(id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? (await ctx.db.select({ n: count() }).from(notes).where(published(id)))[0]?.n : undefined
    const { items, ...rest } = page.page(rows, total)
    return { items: items.map(({ id: _, ...doc }) => doc), ...rest }
  },
)

/** With the documents of the same project that it names as `[[title]]`, and those that name it. */
export const get = read(
  'notes.getDoc',
  anyone,
  async (ctx, { slug, ...place }: PublicProject & { slug: string }): Promise<ProjectDoc> => {
    const project = await publicProject(ctx, place)
    const [found] = await ctx.db
      .select({ ...item, id: notes.id, content: notes.content })
      .from(notes)
      .leftJoin(users, eq(users.id, notes.createdById))
      .where(and(eq(notes.slug, slug.toLowerCase()), published(project.id)))
    if (!found) throw notFound('document', slug)
    const { id, ...doc } = found
    const others = (which: SQL) =>
      ctx.db
        .select({ title: notes.title, slug: notes.slug })
        .from(notes)
        .where(and(published(project.id), ne(notes.id, id), which))
        .orderBy(notes.title, notes.id)
        .limit(LINKS)
    return {
      ...doc,
      project: { name: project.name, slug: project.slug },
      mentions: await others(namedBy(id)),
      backlinks: await others(naming(found.title)),
    }
  },
)
