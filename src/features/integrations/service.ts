import { and, eq } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { account, person } from '../../auth/policy.ts'
import { changeVersioned } from '../../db/records.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { checkOutboundUrl } from '../../outbound.ts'
import { forwards, newSigningKey, seal, sendTo, settle, unseal } from './forwarding.ts'
import {
  type Integration,
  type IntegrationPage,
  type IntegrationPut,
  type IntegrationSaved,
  type Provider,
  providers,
  type Settings,
  type Tested,
} from './schema.ts'
import { integrations } from './table.ts'

const visible = {
  id: integrations.id,
  createdAt: integrations.createdAt,
  updatedAt: integrations.updatedAt,
  version: integrations.version,
  provider: integrations.provider,
  settings: integrations.settings,
  last4: integrations.last4,
  lastDeliveredAt: integrations.lastDeliveredAt,
  lastError: integrations.lastError,
}

const TESTS_PER_MINUTE = 10

const mine = (ctx: Ctx, provider?: Provider) =>
  and(eq(integrations.userId, userIdOf(ctx.actor)), provider && eq(integrations.provider, provider))

function providerOf(name: string): Provider {
  const provider = providers.find((known) => known === name)
  if (!provider) throw new AppError('not_found', `There is no provider ${JSON.stringify(name)}. There are: ${providers.join(', ')}.`)
  return provider
}

export const list = read(
  'integrations.list',
  account('integrations:read'),
  async (ctx, _: Record<string, never>): Promise<IntegrationPage> => ({
    items: await ctx.db.select(visible).from(integrations).where(mine(ctx)).orderBy(integrations.provider),
    nextCursor: null,
  }),
)

// ---- connecting

function checkSecret(ctx: Ctx, provider: Provider, secret: string): void {
  if (!forwards(provider)) {
    if (!/^[\x21-\x7e]{8,500}$/.test(secret)) throw invalid('/secret', `The token of ${provider} has 8 to 500 letters, digits and signs.`)
    return
  }
  if (ctx.app.config.OUTBOUND === 'off')
    throw new AppError('forbidden', `${provider} cannot be connected: the operator of this server set OUTBOUND=off.`)
  try {
    checkOutboundUrl(secret)
  } catch (error) {
    throw invalid('/secret', `For ${provider} the secret is the address that gets the messages. ${(error as Error).message}`)
  }
}

function checkSettings(provider: Provider, settings: Partial<Settings>): void {
  const other = forwards(provider) ? 'login' : 'events'
  if (settings[other] !== undefined) throw invalid(`/settings/${other}`, `${provider} has no setting ${other}.`, 'unknown_field')
}

const defaults: Settings = { enabled: true, events: [], login: null }

/** Connects, or changes what is given. */
export const put = write(
  'integrations.put',
  person,
  async (ctx, { provider: name, secret, settings = {} }: IntegrationPut & { provider: string }): Promise<IntegrationSaved> => {
    const provider = providerOf(name)
    checkSettings(provider, settings)
    if (secret !== undefined) checkSecret(ctx, provider, secret)
    const userId = userIdOf(ctx.actor)
    const [known] = await ctx.db
      .select({ ...visible, sealed: integrations.sealed })
      .from(integrations)
      .where(mine(ctx, provider))
    if (!known) {
      if (secret === undefined) throw invalid('/secret', `secret is required to connect ${provider}.`, 'required')
      const signingKey = provider === 'webhook' ? newSigningKey() : undefined
      const [made] = await ctx.db
        .insert(integrations)
        .values({
          userId,
          provider,
          settings: { ...defaults, ...settings },
          sealed: seal(ctx.app, { secret, signingKey }),
          last4: secret.slice(-4),
          createdAt: ctx.now,
          updatedAt: ctx.now,
        })
        .returning(visible)
      ctx.emit('integration.connected', { subjectId: made?.id, userId, data: { provider } })
      return { ...(made as Integration), ...(signingKey && { signingKey }) }
    }
    const { sealed, ...before } = known
    checkVersion(ctx, before)
    const changed = await changeVersioned(ctx, integrations, {
      columns: visible,
      before,
      set: {
        settings: { ...before.settings, ...settings },
        ...(secret !== undefined && {
          sealed: seal(ctx.app, { ...unseal(ctx.app, sealed), secret }),
          last4: secret.slice(-4),
          lastError: null,
        }),
      },
      what: 'this integration',
      again: async () => (await ctx.db.select(visible).from(integrations).where(mine(ctx, provider)))[0] as Integration,
    })
    const fields = [...Object.keys(settings), ...(secret === undefined ? [] : ['secret'])]
    ctx.emit('integration.updated', { subjectId: before.id, userId, data: { provider, fields } })
    return changed
  },
  { versioned: true, secret: ['signingKey'] },
)

export const remove = write(
  'integrations.remove',
  person,
  async (ctx, { provider: name }: { provider: string }): Promise<{ id: string; deleted: true }> => {
    const provider = providerOf(name)
    const [gone] = await ctx.db.delete(integrations).where(mine(ctx, provider)).returning(visible)
    if (!gone) throw notFound('integration', provider)
    checkVersion(ctx, gone)
    ctx.emit('integration.removed', { subjectId: gone.id, userId: userIdOf(ctx.actor), data: { provider } })
    return { id: gone.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

// ---- trying it

/** Answers what came of it: that a message did not get there is what one wants to know, and no failure of this call. */
export const test = flow('integrations.test', person, async (ctx, { provider: name }: { provider: string }): Promise<Tested> => {
  const provider = providerOf(name)
  const [found] = await ctx.db
    .select({ id: integrations.id, provider: integrations.provider, sealed: integrations.sealed })
    .from(integrations)
    .where(mine(ctx, provider))
  if (!found) throw notFound('integration', provider)
  if (!forwards(provider)) throw new AppError('conflict', `${provider} gets no messages, so there is nothing to test.`)
  await countAttempt(ctx.app.driver, `integration-test:${userIdOf(ctx.actor)}`, TESTS_PER_MINUTE, 60, ctx.app.clock(), 'test messages')
  const failed = await sendTo(ctx, found, {
    event: 'test',
    id: ctx.requestId,
    createdAt: ctx.now,
    type: 'info',
    reason: 'test',
    title: 'A test message from Tutti',
    message: 'Your notifications will arrive here.',
    link: ctx.app.url,
  })
  await settle(ctx, { id: found.id, error: failed?.message ?? null })
  return { delivered: !failed, error: failed?.message ?? null }
})
