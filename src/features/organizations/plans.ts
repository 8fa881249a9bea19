import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type Ctx, read } from '../../action.ts'
import { byRow } from '../../auth/policy.ts'
import { AppError, invalid } from '../../errors.ts'
import { settingsOf } from '../settings/values.ts'
import { planUsage } from './hooks.ts'
import { type PlanLimit, planLimits, type TeamUsage } from './schema.ts'
import { findOrganization } from './service.ts'
import { memberships, organizations } from './table.ts'

/** Throws if plans are configured (in the setting `plans`) and this one is not among them. */
export async function requireKnownPlan(ctx: Ctx, plan: string): Promise<void> {
  const names = Object.keys((await settingsOf(ctx)).plans.table)
  if (names.length > 0 && !names.includes(plan))
    throw invalid('/plan', `There is no plan ${plan}. The plans are: ${names.join(', ')}.`)
}

const parent = alias(organizations, 'parent')

/** Returns the plan of a team; the sandbox of test tokens has the plan of its team. */
async function planOf(ctx: Ctx, organizationId: string): Promise<string | undefined> {
  const [found] = await ctx.db
    .select({ plan: sql<string>`coalesce(${parent.plan}, ${organizations.plan})` })
    .from(organizations)
    .leftJoin(parent, eq(parent.id, organizations.sandboxOf))
    .where(eq(organizations.id, organizationId))
    // The lock makes concurrent writers of a team count one after the other.
    .for('no key update', { of: organizations })
  return found?.plan
}

async function countUsage(ctx: Ctx, organizationId: string, limit: PlanLimit): Promise<number> {
  if (limit === 'members') return ctx.db.$count(memberships, eq(memberships.organizationId, organizationId))
  const parts = await planUsage.call(ctx, { organizationId, limit })
  return parts.reduce((sum, part) => sum + part, 0)
}

interface Addition {
  /** How much is added. Default: 1. */
  more?: number
  /** What else counts, with its name in the singular. */
  reserved?: { count: number; name: string }
}

/**
 * Throws if the plan of the team has no room for one more. Returns whether the plan limits this at all. Must be called
 * in the transaction that adds the record.
 */
export async function requirePlanRoom(
  ctx: Ctx,
  organizationId: string,
  limit: PlanLimit,
  { more = 1, reserved }: Addition = {},
): Promise<boolean> {
  const { table } = (await settingsOf(ctx)).plans
  // Without limits no team is locked, so that no one waits.
  if (Object.values(table).every((limits) => limits[limit] == null)) return false
  const plan = await planOf(ctx, organizationId)
  const most = plan === undefined ? undefined : table[plan]?.[limit]
  if (plan === undefined || most == null) return false
  const used = (await countUsage(ctx, organizationId, limit)) + (reserved?.count ?? 0)
  if (used + more <= most) return true
  const including = reserved && reserved.count > 0 ? `, including ${countedNoun(reserved.count, reserved.name)}` : ''
  throw new AppError(
    'conflict.plan_limit',
    `The plan ${plan} allows ${amount(limit, most)}, and this team has ${amount(limit, used)}${including}. ` +
      'Remove something that you no longer need, or ask an administrator of this server for another plan.',
  )
}

/** Returns whether the plan of the team has room for one more. */
export async function hasPlanRoom(ctx: Ctx, organizationId: string, limit: PlanLimit): Promise<boolean> {
  return requirePlanRoom(ctx, organizationId, limit).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'conflict.plan_limit') return false
      throw error
    },
  )
}

const amount = (limit: PlanLimit, value: number): string =>
  limit === 'storageMb' ? `${Math.ceil(value * 10) / 10} MB of files` : countedNoun(value, limit.slice(0, -1))

const countedNoun = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

export const getUsage = read(
  'organizations.usage',
  byRow('organizations:read'),
  async (ctx, { id }: { id: string }): Promise<TeamUsage> => {
    const { plan, planStatus } = await findOrganization(ctx, id)
    const limits = (await settingsOf(ctx)).plans.table[plan]
    const items = []
    for (const limit of planLimits)
      items.push({ limit, used: Math.ceil(await countUsage(ctx, id, limit)), most: limits?.[limit] ?? null })
    return { plan, planStatus, items }
  },
)
