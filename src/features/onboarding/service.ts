import { and, eq, sql } from 'drizzle-orm'
import { read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, person } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { oauthGrants } from '../grants/table.ts'
import { sendInvite } from '../invites/service.ts'
import { invites } from '../invites/table.ts'
import * as teams from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { tasks } from '../tasks/table.ts'
import { mcpTokens } from '../tokens/table.ts'
import { userOnboarded } from '../users/events.ts'
import { users } from '../users/table.ts'
import type { Onboard, Onboarded, Onboarding } from './schema.ts'

/** Returns the first steps of a new user. Their state follows from existing records, not from stored flags. */
export const listSteps = read(
  'onboarding.get',
  account('account:read'),
  async (ctx, _: Record<string, never>): Promise<Onboarding> => {
    const me = userIdOf(ctx.actor)
    const inTeam = sql`${memberships} m join ${organizations} o on o.id = m.organization_id and o.deleted_at is null`
    const mine = sql`(select m.organization_id from ${inTeam} where m.user_id = ${me})`
    const [found] = await ctx.db
      .select({
        onboardedAt: users.onboardedAt,
        organization: sql<boolean>`exists (select 1 from ${inTeam} where m.user_id = ${me} and not o.personal)`,
        invite: sql<boolean>`exists (select 1 from ${invites} i where i.invited_by_id = ${me})
        or exists (select 1 from ${memberships} x where x.organization_id in ${mine} and x.user_id <> ${me})`,
        token: sql<boolean>`exists (select 1 from ${mcpTokens} t where t.user_id = ${me})`,
        project: sql<boolean>`exists (select 1 from ${projects} p
          where p.organization_id in ${mine} and p.created_by_id = ${me} and p.deleted_at is null)`,
        first_call: sql<boolean>`exists (select 1 from ${mcpTokens} t
          where t.user_id = ${me} and t.last_used_at is not null)
        or exists (select 1 from ${oauthGrants} g where g.user_id = ${me} and g.last_used_at is not null)`,
        first_task: sql<boolean>`exists (select 1 from ${tasks} k
          where k.organization_id in ${mine} and k.deleted_at is null)`,
      })
      .from(users)
      .where(eq(users.id, me))
    if (!found) throw new AppError('unauthenticated', 'This account no longer exists.')
    const { onboardedAt, ...done } = found
    // The last use of a token is written with a delay.
    for (const { actor } of ctx.app.auth.unwritten())
      if (actor.kind === 'mcp_token' && actor.userId === me) done.first_call = true
    return {
      onboardedAt,
      steps: (['organization', 'invite', 'token', 'project', 'first_call', 'first_task'] as const).map((id) => ({
        id,
        done: done[id],
      })),
    }
  },
)

/** Runs at most once for each user: a second click must not create a second team. */
export const finishOnboarding = write(
  'onboarding.finish',
  person,
  async (ctx, { organization, invites: wanted = [] }: Onboard): Promise<Onboarded> => {
    const me = userIdOf(ctx.actor)
    const [user] = await ctx.db
      .select({ onboardedAt: users.onboardedAt, preferences: users.preferences })
      .from(users)
      .where(eq(users.id, me))
      .for('update')
    if (user?.onboardedAt)
      throw new AppError('conflict', 'You have already completed onboarding. Create more teams without it.', {
        next: [{ route: 'POST /api/teams', command: 'tutti teams create <name>' }],
      })
    const team = await teams.create(ctx, organization)
    const sent = []
    for (const invite of wanted) sent.push(await sendInvite(ctx, team, invite))
    await ctx.db
      .update(users)
      .set({
        onboardedAt: ctx.now,
        preferences: { ...user?.preferences, currentOrganizationId: team.id },
        updatedAt: ctx.now,
        version: sql`${users.version} + 1`,
      })
      .where(and(eq(users.id, me)))
    ctx.emit(userOnboarded, { subjectId: me, userId: me })
    const detail = sent[0]?.detail
    return {
      organization: team,
      invites: sent.map(({ link: _, detail: __, ...invite }) => invite),
      links: sent.flatMap(({ email, link }) => (link ? [{ email, link }] : [])),
      ...(detail && { detail }),
      onboardedAt: ctx.now,
    }
  },
  { secret: ['links'] },
)
