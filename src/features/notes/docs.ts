import { eq, isNull, ne, type SQL } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { isPublic } from '../projects/visible.ts'
import { users } from '../users/table.ts'
import { isNamedBy, isNaming, MOST_NOTE_LINKS } from './links.ts'
import { isPublished } from './rows.ts'
import type { DocQuery, ProjectDoc, ProjectDocPage, PublicNote } from './schema.ts'
import { notes } from './table.ts'

/** Public notes, for visitors. The public notes of a public project are its documents. */
interface PublicProject {
  team: string
  project: string
}

const docColumns = {
  title: notes.title,
  slug: notes.slug,
  tags: notes.tags,
  createdAt: notes.createdAt,
  updatedAt: notes.updatedAt,
  author: { handle: users.handle, name: users.name },
}

const isPublishedIn = (projectId: string): SQL => and(eq(notes.projectId, projectId), isPublished)

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
        isPublic,
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
      .select({ id: notes.id, ...docColumns })
      .from(notes)
      .leftJoin(users, eq(users.id, notes.createdById))
      .where(page.where(isPublishedIn(id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(notes, isPublishedIn(id)) : undefined
    const { items, ...rest } = page.page(rows, total)
    return { items: items.map(({ id: _, ...doc }) => doc), ...rest }
  },
)

/** Returns a document with the documents of the project that it mentions as `[[title]]`, and those that mention it. */
export const get = read(
  'notes.getDoc',
  anyone,
  async (ctx, { slug, ...place }: PublicProject & { slug: string }): Promise<ProjectDoc> => {
    const project = await publicProject(ctx, place)
    const [found] = await ctx.db
      .select({ ...docColumns, id: notes.id, content: notes.content })
      .from(notes)
      .leftJoin(users, eq(users.id, notes.createdById))
      .where(and(eq(notes.slug, slug.toLowerCase()), isPublishedIn(project.id)))
    if (!found) throw notFound('document', slug)
    const { id, ...doc } = found
    const others = (which: SQL) =>
      ctx.db
        .select({ title: notes.title, slug: notes.slug })
        .from(notes)
        .where(and(isPublishedIn(project.id), ne(notes.id, id), which))
        .orderBy(notes.title, notes.id)
        .limit(MOST_NOTE_LINKS)
    return {
      ...doc,
      project: { name: project.name, slug: project.slug },
      mentions: await others(isNamedBy(id)),
      backlinks: await others(isNaming(found.title)),
    }
  },
)

/** Returns a public note of any team, with its author. */
export const getPublic = read(
  'notes.getPublic',
  anyone,
  async (ctx, { slug }: { slug: string }): Promise<PublicNote> => {
    const [found] = await ctx.db
      .select({
        title: notes.title,
        slug: notes.slug,
        content: notes.content,
        tags: notes.tags,
        createdAt: notes.createdAt,
        updatedAt: notes.updatedAt,
        handle: users.handle,
        name: users.name,
      })
      .from(notes)
      .innerJoin(users, eq(users.id, notes.createdById))
      .innerJoin(
        organizations,
        and(
          eq(organizations.id, notes.organizationId),
          isNull(organizations.deletedAt),
          isNull(organizations.sandboxOf),
        ),
      )
      .where(and(eq(notes.slug, slug.toLowerCase()), isPublished))
    if (!found) throw notFound('note', slug)
    const { handle, name, ...note } = found
    return { ...note, author: { handle, name } }
  },
)
