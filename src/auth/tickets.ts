import type { Db } from '../db/session.ts'
import { AppError } from '../errors.ts'
import { type Actor, userIdOf } from './actor.ts'
import type { Authenticator } from './authenticate.ts'
import { issueSecret, minutesAfter, redeemSecret } from './one-time-secrets.ts'

const MINUTES = 1

/** What tickets need of the app. */
interface TicketApp {
  readonly db: Db
  readonly clock: () => Date
  readonly auth: Authenticator
}

/** Issues a secret that stands for the caller's credential once, for clients that cannot send a header. */
export async function issueTicket(ctx: {
  db: Db
  now: string
  actor: Actor
}): Promise<{ ticket: string; expiresAt: string }> {
  const { kind, credentialId } = ctx.actor
  const data = { kind, credentialId }
  const ticket = await issueSecret(ctx, {
    purpose: 'live_ticket',
    minutes: MINUTES,
    userId: userIdOf(ctx.actor),
    data,
  })
  return { ticket, expiresAt: minutesAfter(ctx.now, MINUTES) }
}

/** Returns who asked for the ticket, with the rights that their credential has now. */
export async function redeemTicket(app: TicketApp, ticket: string): Promise<Actor> {
  const found = await redeemSecret({ db: app.db, now: app.clock().toISOString() }, 'live_ticket', ticket)
  const renewed = found && (await app.auth.renew(found.data as Pick<Actor, 'kind' | 'credentialId'>))
  if (!renewed || 'ended' in renewed)
    throw new AppError('unauthenticated', 'The ticket is not valid: unknown, used or older than a minute.', {
      next: [{ route: 'POST /api/ws/ticket' }],
    })
  return renewed.actor
}
