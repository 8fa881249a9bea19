import { and, eq, inArray } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Notice, notify } from '../notifications/service.ts'
import { memberships } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { readersOf } from './readers.ts'

/** `@ada`, but not the middle of `ada@example.com` or of a path. */
const mentionPattern = /(?<![\p{L}\p{N}_@./-])@([a-z0-9](?:-?[a-z0-9]){0,62})(?![\p{L}\p{N}_])/giu
const MOST = 20

interface MentionScope {
  organizationId: string
  /** Null for a text of the whole team. */
  projectId: string | null
}

/** Notifies the people that a text mentions, if they can see its project or are members of its team. */
export async function notifyMentioned(
  ctx: Ctx,
  place: MentionScope,
  text: string,
  notice: Omit<Notice, 'userId' | 'reason'>,
): Promise<void> {
  const readers = await findMentioned(ctx, place, text)
  await notify(ctx, ...readers.map((userId) => ({ ...notice, userId, reason: 'mention' })))
}

/** Returns the people that a text mentions and who can see it, except the caller. */
export async function findMentioned(ctx: Ctx, place: MentionScope, text: string): Promise<string[]> {
  const handles = new Set(Array.from(text.matchAll(mentionPattern), ([, handle]) => (handle as string).toLowerCase()))
  if (handles.size === 0) return []
  const named = await ctx.db
    .select({ id: users.id })
    .from(users)
    .where(and(inArray(users.handle, [...handles].slice(0, MOST)), eq(users.status, 'active')))
  const others = named.map(({ id }) => id).filter((id) => id !== ctx.actor.userId)
  return place.projectId ? readersOf(ctx, place.projectId, others) : membersOf(ctx, place.organizationId, others)
}

async function membersOf(ctx: Ctx, organizationId: string, people: readonly string[]): Promise<string[]> {
  const rows = await ctx.db
    .select({ id: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), inArray(memberships.userId, [...people])))
  return rows.map(({ id }) => id)
}
