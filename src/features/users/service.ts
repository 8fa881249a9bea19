import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { User } from './schema.ts'
import { users } from './table.ts'

/** Columns that users see of their own account. */
export const userColumns = {
  id: users.id,
  createdAt: users.createdAt,
  updatedAt: users.updatedAt,
  version: users.version,
  email: users.email,
  name: users.name,
  handle: users.handle,
  avatarUrl: users.avatarUrl,
  coverUrl: users.coverUrl,
  bio: users.bio,
  timezone: users.timezone,
  locale: users.locale,
  role: users.role,
  status: users.status,
  emailVerifiedAt: users.emailVerifiedAt,
  onboardedAt: users.onboardedAt,
  preferences: users.preferences,
}

export const sameEmail = (email: string) => eq(sql`lower(${users.email})`, email.toLowerCase())

export const byEmail = async (ctx: Ctx, email: string): Promise<User | undefined> =>
  (await ctx.db.select(userColumns).from(users).where(sameEmail(email)))[0]

/** Returns the user only if they can sign in. */
export const activeUser = async (ctx: Ctx, id: string): Promise<User | undefined> =>
  (
    await ctx.db
      .select(userColumns)
      .from(users)
      .where(and(eq(users.id, id), eq(users.status, 'active')))
  )[0]
