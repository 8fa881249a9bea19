import { desc, eq, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { agents } from '../agents/table.ts'
import { isPublished } from '../notes/rows.ts'
import { notes } from '../notes/table.ts'
import { isPublic } from '../organizations/sharing.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { isPublic as isPublicProject } from '../projects/visible.ts'
import { skills } from '../skills/table.ts'
import { users } from '../users/table.ts'

const MOST = 100

interface Profile {
  name: string
  handle: string
  bio: string | null
  made: { href: string; text: string }[]
}

/** SQL condition: the team exists and is not a sandbox. */
const openTeam = (organizationId: typeof notes.organizationId | typeof projects.organizationId) =>
  and(eq(organizations.id, organizationId), isNull(organizations.deletedAt), isNull(organizations.sandboxOf))

/** Returns the public records of a user. Suspended users, and users without public records, have no page. */
export async function profileOf(ctx: Ctx, handle: string): Promise<Profile> {
  const [user] = await ctx.db
    .select({ id: users.id, name: users.name, handle: users.handle, bio: users.bio })
    .from(users)
    .where(and(eq(sql`lower(${users.handle})`, handle.toLowerCase()), eq(users.status, 'active')))
  if (!user) throw notFound('user', handle)
  const made = [
    ...(
      await ctx.db
        .select({ text: projects.name, slug: projects.slug })
        .from(projects)
        .innerJoin(organizations, openTeam(projects.organizationId))
        .where(and(eq(projects.createdById, user.id), isPublicProject))
        .orderBy(desc(projects.updatedAt))
        .limit(MOST)
    ).map(({ text, slug }) => ({ text, href: `/public/projects/${user.handle}/${slug}` })),
    ...(
      await ctx.db
        .select({ text: notes.title, slug: notes.slug })
        .from(notes)
        .innerJoin(organizations, openTeam(notes.organizationId))
        .where(and(eq(notes.createdById, user.id), isPublished))
        .orderBy(desc(notes.updatedAt))
        .limit(MOST)
    ).map(({ text, slug }) => ({ text, href: `/notes/public/${slug}` })),
    ...(
      await ctx.db
        .select({ text: skills.name, slug: skills.slug })
        .from(skills)
        .where(and(eq(skills.createdById, user.id), isPublic(skills)))
        .orderBy(desc(skills.updatedAt))
        .limit(MOST)
    ).map(({ text, slug }) => ({ text, href: `/skills/public/${slug}` })),
    ...(
      await ctx.db
        .select({ text: agents.name, slug: agents.slug })
        .from(agents)
        .where(and(eq(agents.createdById, user.id), isPublic(agents), eq(agents.status, 'active')))
        .orderBy(desc(agents.updatedAt))
        .limit(MOST)
    ).map(({ text, slug }) => ({ text, href: `/agents/public/${slug}` })),
  ]
  if (made.length === 0) throw notFound('user', handle)
  return { name: user.name, handle: user.handle, bio: user.bio, made }
}
