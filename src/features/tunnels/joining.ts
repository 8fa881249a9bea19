import { randomBytes } from 'node:crypto'
import { eq, gt, isNull, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { anyone, throwIfRefused } from '../../auth/policy.ts'
import { hashSecret, newSecret } from '../../auth/secrets.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { memberships } from '../organizations/table.ts'
import { lockOwnSession } from '../tokens/credentials.ts'
import { users } from '../users/table.ts'
import { availableSlug, changeTunnel, checkPublic, requireUnusedSlug } from './change-tunnel.ts'
import { tunnelClaimed, tunnelRegistered } from './events.ts'
import { claimRefusal, findTunnel, toTunnel, tunnelEvent } from './rows.ts'
import { tunnelActRule } from './rules.ts'
import type { TunnelClaim, TunnelClaimed, TunnelRegister, TunnelRegistered } from './schema.ts'
import { tunnels } from './table.ts'

/** How many tunnels one user may have. */
const MOST = 10
/** Minutes in which a machine has to use the nonce. */
const CLAIM_MINUTES = 5

/**
 * Creates a tunnel, or renews the nonce of one. The machine claims it with the nonce, so that it never has the user's
 * credential.
 */
export const registerTunnel = write(
  'tunnels.register',
  tunnelActRule,
  async (ctx, { tunnelId, ...input }: TunnelRegister): Promise<TunnelRegistered> => {
    if (ctx.actor.kind === 'session') await lockOwnSession(ctx)
    const id = tunnelId === undefined ? await insertTunnel(ctx, input) : await renewTunnel(ctx, tunnelId, input)
    const nonce = randomBytes(32).toString('base64url')
    const expiresAt = minutesAfter(ctx.now, CLAIM_MINUTES)
    await ctx.db
      .update(tunnels)
      .set({ claimHash: hashSecret(nonce), claimExpiresAt: expiresAt })
      .where(eq(tunnels.id, id))
    const tunnel = await findTunnel(ctx, id)
    ctx.emit(tunnelRegistered, tunnelEvent(tunnel))
    return { tunnel: toTunnel(ctx, tunnel), nonce, expiresAt }
  },
  { secret: ['nonce'] },
)

/** Changes the given fields of the tunnel. */
async function renewTunnel(ctx: Ctx, tunnelId: string, patch: Omit<TunnelRegister, 'tunnelId'>): Promise<string> {
  const tunnel = await findTunnel(ctx, tunnelId)
  throwIfRefused(claimRefusal(ctx, tunnel))
  if (Object.keys(patch).length > 0) await changeTunnel(ctx, tunnel, patch)
  return tunnel.id
}

async function insertTunnel(
  ctx: Ctx,
  { name, slug, access, labels }: Omit<TunnelRegister, 'tunnelId'>,
): Promise<string> {
  if (name === undefined)
    throw new AppError('invalid', 'Send the name of a new tunnel, or the tunnelId of one of yours.', {
      errors: [{ pointer: '/name', code: 'required', message: 'name is required without tunnelId' }],
    })
  const ownerId = userIdOf(ctx.actor)
  checkPublic(ctx, access)
  // The lock makes concurrent registrations count one after another.
  await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, ownerId)).for('update')
  const own = and(eq(tunnels.ownerId, ownerId), isNull(tunnels.deletedAt))
  if ((await ctx.db.$count(tunnels, own)) >= MOST)
    throw new AppError('conflict', `You have ${MOST} tunnels, the maximum. Delete one first.`)
  const id = newId()
  await ctx.db.insert(tunnels).values({
    id,
    organizationId: currentOrganization(ctx.actor),
    ownerId,
    name: name.trim(),
    slug: slug === undefined ? await availableSlug(ctx, name) : await requireUnusedSlug(ctx, slug),
    access: access ?? 'private',
    labels: labels ?? [],
    createdAt: ctx.now,
    updatedAt: ctx.now,
  })
  return id
}

/**
 * Exchanges the nonce for the credential of the machine. One statement decides, so of concurrent callers exactly one
 * wins. It revokes an earlier credential of the tunnel.
 */
export const claimTunnel = write(
  'tunnels.claim',
  anyone,
  async (ctx, { nonce, ...machine }: TunnelClaim): Promise<TunnelClaimed> => {
    const token = newSecret('tunnel')
    const active = sql`exists (select 1 from ${users} u join ${memberships} m on m.user_id = u.id
      where u.id = ${tunnels.ownerId} and u.status = 'active' and m.organization_id = ${tunnels.organizationId})`
    const [claimed] = await ctx.db
      .update(tunnels)
      .set({
        ...machine,
        tokenId: newId(),
        tokenHash: hashSecret(token),
        claimedAt: ctx.now,
        claimHash: null,
        claimExpiresAt: null,
        updatedAt: ctx.now,
        version: sql`${tunnels.version} + 1`,
      })
      .where(
        and(
          eq(tunnels.claimHash, hashSecret(nonce)),
          gt(tunnels.claimExpiresAt, ctx.now),
          isNull(tunnels.deletedAt),
          active,
        ),
      )
      .returning()
    if (!claimed)
      throw new AppError('unauthenticated', 'The nonce is not valid: unknown, used or older than five minutes.', {
        next: [{ route: 'POST /api/tunnels/register' }],
      })
    ctx.emit(tunnelClaimed, tunnelEvent(claimed, { userId: claimed.ownerId }))
    const { id: tunnelId, ownerId, name, slug } = claimed
    return { tunnelId, ownerId, name, slug, token }
  },
  { secret: ['token'] },
)
