import { and, eq } from 'drizzle-orm'
import { read } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { invalid } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { users } from '../users/table.ts'
import { placeholder } from './placeholders.ts'
import { findSkill, visibleTo } from './service.ts'
import { skills } from './table.ts'

/** A skill as an MCP prompt, which people pick from their agent's menu. */
interface Prompt {
  slug: string
  name: string
  description: string | null
  /** Name of the author; null if their account was removed. */
  author: string | null
  arguments: string[]
}

/** In characters. An argument can occur a thousand times, so a small request could otherwise get a huge response. */
const MOST_TEXT = 256 << 10

const promptColumns = {
  id: skills.id,
  updatedAt: skills.updatedAt,
  slug: skills.slug,
  name: skills.name,
  description: skills.description,
  author: users.name,
  arguments: skills.placeholders,
}

/** Lists the team's own skills. Public skills of others are left out, so that strangers cannot fill the menu. */
export const listSkillPrompts = read(
  'skills.prompts',
  member('skills:read'),
  async (ctx, { cursor }: { cursor?: string }): Promise<{ items: Prompt[]; nextCursor: string | null }> => {
    const page = keyset({ name: skills.name }, skills.id, { cursor, limit: 100 }, { sort: 'name', order: 'asc' })
    const rows = await ctx.db
      .select(promptColumns)
      .from(skills)
      .leftJoin(users, eq(users.id, skills.createdById))
      .where(page.where(and(eq(skills.organizationId, currentOrganization(ctx.actor)), visibleTo(rightsOf(ctx.actor)))))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows)
  },
)

/** Fills in the arguments. A missing one keeps its placeholder, so that the agent asks for it. */
export const getSkillPrompt = read(
  'skills.prompt',
  member('skills:read'),
  async (
    ctx,
    { ref, given }: { ref: string; given: Readonly<Record<string, string>> },
  ): Promise<Omit<Prompt, 'arguments'> & { text: string }> => {
    const { slug, name, description, content, createdById } = await findSkill(ctx, ref)
    const [author] = createdById
      ? await ctx.db.select({ name: users.name }).from(users).where(eq(users.id, createdById))
      : []
    let left = MOST_TEXT - content.length
    const text = content.replace(placeholder, (as, argument: string) => {
      const value = Object.hasOwn(given, argument) ? (given[argument] as string) : as
      left -= value.length
      if (left < 0)
        throw invalid('/arguments', 'With these arguments the text exceeds 256 KiB. Use shorter arguments.', 'too_long')
      return value
    })
    return { slug, name, description, author: author?.name ?? null, text }
  },
)
