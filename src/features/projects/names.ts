import { and, count, eq, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { type ProjectColor, projectColors } from '../../records/project-colors.ts'
import { slugify, uniqueSlug } from '../../text/text.ts'
import { planUsage } from '../organizations/hooks.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from './table.ts'

/** Slugs and keys are unique in an organization among projects that are not deleted. */
const isNotDeleted = isNull(projects.deletedAt)

/** Archived projects count too: their records stay. */
export const countForPlan = planUsage.handle((ctx, { organizationId, limit }) =>
  limit === 'projects' ? ctx.db.$count(projects, and(eq(projects.organizationId, organizationId), isNotDeleted)) : 0,
)

/** Locks the team, so that concurrent callers choose slugs and keys, or change dependencies, one after another. */
export const lockTeam = (ctx: Ctx, organizationId: string) =>
  ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .for('no key update')

export async function freeSlug(ctx: Ctx, organizationId: string, name: string): Promise<string> {
  const base = slugify(name) || 'project'
  const rows = await ctx.db
    .select({ slug: projects.slug })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), isNotDeleted, sql`${projects.slug} like ${`${base}%`}`))
  return uniqueSlug(base, new Set(rows.map((r) => r.slug)))
}

/** Returns the colour that the fewest projects of the team have; of several, the first of the list. */
export async function leastUsedColor(ctx: Ctx, organizationId: string): Promise<ProjectColor> {
  const rows = await ctx.db
    .select({ color: projects.color, n: count() })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), isNotDeleted))
    .groupBy(projects.color)
  const used = new Map(rows.map(({ color, n }) => [color, n]))
  const uses = (color: ProjectColor) => used.get(color) ?? 0
  return projectColors.reduce((best, color) => (uses(color) < uses(best) ? color : best))
}

/** Uses the initials of the name's words, or its first letters: `Tutti` → TUT, `Tutti Server` → TS, then TSA, TSB … */
export async function freeKey(ctx: Ctx, organizationId: string, name: string, wanted?: string): Promise<string> {
  const rows = await ctx.db
    .select({ key: projects.key })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), isNotDeleted))
  const taken = new Set(rows.map((r) => r.key))
  if (wanted) {
    if (taken.has(wanted)) throw new AppError('conflict.exists', `The key ${wanted} is taken in this organization.`)
    return wanted
  }
  const words = slugify(name).replace(/[0-9]/g, '').split('-').filter(Boolean)
  const base = (words.length > 1 ? words.map((w) => w[0]).join('') : (words[0] ?? ''))
    .toUpperCase()
    .slice(0, words.length > 1 ? 4 : 3)
    .padEnd(2, 'X')
  if (!taken.has(base)) return base
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
  for (let n = 0; ; n++) {
    const tail = n < 26 ? letters[n] : `${letters[Math.floor(n / 26 - 1) % 26]}${letters[n % 26]}`
    const key = `${base}${tail}`
    if (!taken.has(key)) return key
    if (n > 700) throw new AppError('conflict', 'All generated keys are taken. Set a `key` of 2 to 6 capital letters.')
  }
}
