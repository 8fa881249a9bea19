import { and, eq, isNull, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { users } from '../users/table.ts'
import { find } from './service.ts'
import { skills } from './table.ts'

/** A skill as something that a person picks in his agent's menu. */
export interface Prompt {
  slug: string
  name: string
  description: string | null
  /** Who wrote it; null when he has left. */
  author: string | null
  arguments: string[]
}

/** `{{branch}}` in its text is asked for when the skill is used. */
const placeholder = /\{\{\s*([A-Za-z][A-Za-z0-9_]{0,39})\s*\}\}/g
/** Characters. One argument may stand in a thousand places: a small request must not become a huge answer. */
const MOST_TEXT = 256 << 10
const argumentsIn = sql<string>`coalesce((select json_agg(distinct m[1])
  from regexp_matches(${skills.content}, '\\{\\{\\s*([A-Za-z][A-Za-z0-9_]{0,39})\\s*\\}\\}', 'g') m), '[]'::json)::text`

const columns = {
  id: skills.id,
  updatedAt: skills.updatedAt,
  slug: skills.slug,
  name: skills.name,
  description: skills.description,
  author: users.name,
  arguments: argumentsIn,
}

/** The team's own. What strangers published is found by `get_skill`, but nobody's menu fills by their doing. */
export const prompts = read(
  'skills.prompts',
  member('skills:read'),
  async (ctx, { cursor }: { cursor?: string }): Promise<{ items: Prompt[]; nextCursor: string | null }> => {
    const page = keyset({ name: skills.name }, skills.id, { cursor, limit: 100 }, { sort: 'name', order: 'asc' })
    const rows = await ctx.db
      .select(columns)
      .from(skills)
      .leftJoin(users, eq(users.id, skills.createdById))
      .where(page.where(and(isNull(skills.deletedAt), eq(skills.organizationId, currentOrganization(ctx.actor)))))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows.map((row) => ({ ...row, arguments: JSON.parse(row.arguments) as string[] })))
  },
)

/** Its text with the arguments put in; one that is not given stays as it is written, for the agent to ask about. */
export const prompt = read(
  'skills.prompt',
  member('skills:read'),
  async (
    ctx,
    { ref, given }: { ref: string; given: Readonly<Record<string, string>> },
  ): Promise<Omit<Prompt, 'arguments'> & { text: string }> => {
    const { slug, name, description, content, createdById } = await find(ctx, ref)
    const [author] = createdById
      ? await ctx.db.select({ name: users.name }).from(users).where(eq(users.id, createdById))
      : []
    let left = MOST_TEXT - content.length
    const text = content.replace(placeholder, (as, argument: string) => {
      const value = Object.hasOwn(given, argument) ? (given[argument] as string) : as
      left -= value.length
      if (left < 0)
        throw invalid(
          '/arguments',
          'With these arguments the text is larger than 256 KiB. Give shorter ones.',
          'too_long',
        )
      return value
    })
    return { slug, name, description, author: author?.name ?? null, text }
  },
)
