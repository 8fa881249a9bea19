import { and, eq, isNull, notExists, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { contextOf, read, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { meta } from '../../db/table.ts'
import type { App } from '../../services.ts'
import { issuerOf } from './providers.ts'
import { providers } from './schema.ts'
import { connectedAccounts } from './table.ts'

const DONE = 'oauth.issuers'

/**
 * Sets the issuer of identities that are older than the column `issuer` to the one that is configured for their
 * provider. Runs once, right after the upgrade, when that is most likely still the issuer that created them. Identities
 * of a provider that is not configured then keep no issuer, and match no one until their owners connect them again.
 */
const stampIssuers = write('oauth.stampIssuers', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  // A second instance that starts now waits here for the first one, and then has nothing to do.
  const claim = ctx.db.insert(meta).values({ key: DONE, value: ctx.now }).onConflictDoNothing()
  if ((await claim.returning()).length === 0) return
  const other = alias(connectedAccounts, 'other')
  for (const provider of providers) {
    const issuer = issuerOf(ctx.app.config, provider)
    if (!issuer) continue
    const { issuer: missing, provider: name, subject } = connectedAccounts
    // Two providers may have one issuer.
    const taken = ctx.db
      .select({ one: sql`1` })
      .from(other)
      .where(and(eq(other.issuer, issuer), eq(other.subject, subject)))
    await ctx.db
      .update(connectedAccounts)
      .set({ issuer })
      .where(and(isNull(missing), eq(name, provider), notExists(taken)))
  }
})

const lackIssuers = read('oauth.lackIssuers', machine, async (ctx, _: Record<string, never>): Promise<boolean> => {
  const done = ctx.db.select().from(meta).where(eq(meta.key, DONE))
  const found = await ctx.db
    .select({ id: connectedAccounts.id })
    .from(connectedAccounts)
    .where(and(isNull(connectedAccounts.issuer), notExists(done)))
    .limit(1)
  return found.length > 0
})

/** Runs before the first sign-in. Writes only if necessary, so that it adds no useless entry to the audit log. */
export async function prepareIssuers(app: App): Promise<void> {
  const ctx = contextOf(app, system)
  if (await lackIssuers(ctx, {})) await stampIssuers(ctx, {})
}
