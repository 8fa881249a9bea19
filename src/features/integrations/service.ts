import { and, eq, inArray } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { account, person } from '../../auth/policy.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import {
  defaultBase,
  type HostAddress,
  hostAddress,
  normalizeBase,
  operatorHost,
} from '../../outside/codehosts/host-address.ts'
import { type CodeHost, codeHosts } from '../../outside/codehosts/schema.ts'
import { checkOutboundUrl } from '../../outside/outbound.ts'
import { updateVersioned } from '../../records/rows.ts'
import { integrationConnected, integrationRemoved, integrationUpdated } from './events.ts'
import {
  isForwarding,
  newSigningKey,
  sealSecrets,
  sendMessage,
  storeDeliveryResult,
  unsealSecrets,
} from './forwarding.ts'
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
const isCodeHost = (provider: Provider): provider is CodeHost => codeHosts.some((known) => known === provider)

const ownIntegration = (ctx: Ctx, provider?: Provider) =>
  and(eq(integrations.userId, userIdOf(ctx.actor)), provider && eq(integrations.provider, provider))

function providerOf(name: string): Provider {
  const provider = providers.find((known) => known === name)
  if (!provider)
    throw new AppError(
      'not_found',
      `There is no provider ${JSON.stringify(name)}. Use one of: ${providers.join(', ')}.`,
    )
  return provider
}

export const list = read(
  'integrations.list',
  account('integrations:read'),
  async (ctx, _: Record<string, never>): Promise<IntegrationPage> => ({
    items: await ctx.db.select(visible).from(integrations).where(ownIntegration(ctx)).orderBy(integrations.provider),
    nextCursor: null,
  }),
)

// ---- connecting

function checkSecret(ctx: Ctx, provider: Provider, secret: string): void {
  if (!isForwarding(provider)) {
    if (!/^[\x21-\x7e]{8,500}$/.test(secret))
      throw invalid('/secret', `A token for ${provider} must have 8 to 500 printable ASCII characters without spaces.`)
    return
  }
  const { config, outbound } = ctx.app
  const url = URL.parse(secret)
  if (config.OUTBOUND === 'off' && !(url && outbound.allowed.isListed(url)))
    throw new AppError('forbidden', `${provider} cannot be connected: the operator of this server set OUTBOUND=off.`)
  try {
    checkOutboundUrl(secret, outbound.allowed)
  } catch (error) {
    throw invalid(
      '/secret',
      `For ${provider} the secret is the address that receives the messages. ${(error as Error).message}`,
    )
  }
}

function checkSettings(provider: Provider, settings: Partial<Settings>): void {
  for (const other of isForwarding(provider) ? (['login', 'url'] as const) : (['events'] as const))
    if (settings[other] !== undefined)
      throw invalid(`/settings/${other}`, `${provider} has no setting ${other}.`, 'unknown_field')
}

/** Returns the host that a token is for. It is stored with the token, which is never sent to another host. */
function hostOf({ app }: Ctx, provider: CodeHost, given: string | null | undefined): string {
  const base = given ? normalizeBase(given) : defaultBase(app.config, provider)
  if (base === undefined)
    throw invalid(
      '/settings/url',
      `settings.url is required for ${provider}: the web address of the host that the token is for.`,
      'required',
    )
  const own = operatorHost(app.config)
  if (own.trusted && own.base === base) return base
  try {
    checkOutboundUrl(given ?? base, app.outbound.allowed)
  } catch (error) {
    throw invalid('/settings/url', (error as Error).message)
  }
  return base
}

const defaults: Settings = { enabled: true, events: [], login: null }

/** Connects the provider, or changes only the given settings. */
export const put = write(
  'integrations.put',
  person,
  async (ctx, { provider: name, ...input }: IntegrationPut & { provider: string }): Promise<IntegrationSaved> => {
    const provider = providerOf(name)
    checkSettings(provider, input.settings ?? {})
    if (input.secret !== undefined) checkSecret(ctx, provider, input.secret)
    const [known] = await ctx.db
      .select({ ...visible, sealed: integrations.sealed })
      .from(integrations)
      .where(ownIntegration(ctx, provider))
    return known ? changeIntegration(ctx, provider, known, input) : connectIntegration(ctx, provider, input)
  },
  { versioned: true, secret: ['signingKey'] },
)

async function connectIntegration(
  ctx: Ctx,
  provider: Provider,
  { secret, settings = {} }: IntegrationPut,
): Promise<IntegrationSaved> {
  const userId = userIdOf(ctx.actor)
  if (secret === undefined) throw invalid('/secret', `secret is required to connect ${provider}.`, 'required')
  const signingKey = provider === 'webhook' ? newSigningKey() : undefined
  const [made] = await ctx.db
    .insert(integrations)
    .values({
      userId,
      provider,
      settings: { ...defaults, ...settings, ...hostSetting(ctx, provider, settings.url) },
      sealed: sealSecrets(ctx.app, { secret, signingKey }),
      last4: secret.slice(-4),
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(visible)
  ctx.emit(integrationConnected, { subjectId: made?.id, userId, data: { provider } })
  return { ...(made as Integration), ...(signingKey && { signingKey }) }
}

async function changeIntegration(
  ctx: Ctx,
  provider: Provider,
  { sealed, ...before }: Integration & { sealed: string },
  { secret, settings = {} }: IntegrationPut,
): Promise<Integration> {
  checkVersion(ctx, before)
  const moved = settings.url === undefined ? {} : hostSetting(ctx, provider, settings.url)
  // A thief with a stolen session must not be able to send a token, which they cannot read, to a host of their own.
  if ('url' in moved && moved.url !== before.settings.url && secret === undefined)
    throw invalid('/secret', 'The new host needs its own token. Send secret too.', 'required')
  const changed = await updateVersioned(ctx, integrations, {
    columns: visible,
    before,
    set: {
      settings: { ...before.settings, ...settings, ...moved },
      ...(secret !== undefined && {
        sealed: sealSecrets(ctx.app, { ...unsealSecrets(ctx.app, sealed), secret }),
        last4: secret.slice(-4),
        lastError: null,
      }),
    },
    what: 'this integration',
    again: async () =>
      (await ctx.db.select(visible).from(integrations).where(ownIntegration(ctx, provider)))[0] as Integration,
  })
  const fields = [...Object.keys(settings), ...(secret === undefined ? [] : ['secret'])]
  ctx.emit(integrationUpdated, { subjectId: before.id, userId: userIdOf(ctx.actor), data: { provider, fields } })
  return changed
}

/** Only code hosts have an address. */
const hostSetting = (ctx: Ctx, provider: Provider, url: string | null | undefined): { url?: string } =>
  isCodeHost(provider) ? { url: hostOf(ctx, provider, url) } : {}

export const remove = write(
  'integrations.remove',
  person,
  async (ctx, { provider: name }: { provider: string }): Promise<{ id: string; deleted: true }> => {
    const provider = providerOf(name)
    const [gone] = await ctx.db.delete(integrations).where(ownIntegration(ctx, provider)).returning(visible)
    if (!gone) throw notFound('integration', provider)
    checkVersion(ctx, gone)
    ctx.emit(integrationRemoved, { subjectId: gone.id, userId: userIdOf(ctx.actor), data: { provider } })
    return { id: gone.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

// ---- code hosts

/** Returns the code hosts that the user has stored a token for, enabled or not. */
export async function codeHostsOf(ctx: Ctx, userId: string): Promise<HostAddress[]> {
  const rows = await ctx.db
    .select({ provider: integrations.provider, settings: integrations.settings })
    .from(integrations)
    .where(and(eq(integrations.userId, userId), inArray(integrations.provider, codeHosts)))
    .orderBy(integrations.provider)
  return rows.flatMap(({ provider, settings: { url } }) =>
    isCodeHost(provider) && url ? hostAddress(ctx.app.config, { provider, base: url }) : [],
  )
}

/** Returns the user's own token for exactly this host, if any. Tokens of other users or the operator are never used. */
export async function tokenFor(
  ctx: Ctx,
  userId: string,
  { provider, base }: Pick<HostAddress, 'provider' | 'base'>,
): Promise<string | undefined> {
  const [found] = await ctx.db
    .select({ settings: integrations.settings, sealed: integrations.sealed })
    .from(integrations)
    .where(and(eq(integrations.userId, userId), eq(integrations.provider, provider)))
  return found?.settings.enabled && found.settings.url === base
    ? unsealSecrets(ctx.app, found.sealed).secret
    : undefined
}

// ---- testing

/** Sends a test message. A failed delivery is a result of this call, not an error. */
export const test = flow(
  'integrations.test',
  person,
  async (ctx, { provider: name }: { provider: string }): Promise<Tested> => {
    const provider = providerOf(name)
    const [found] = await ctx.db
      .select({ id: integrations.id, provider: integrations.provider, sealed: integrations.sealed })
      .from(integrations)
      .where(ownIntegration(ctx, provider))
    if (!found) throw notFound('integration', provider)
    if (!isForwarding(provider))
      throw new AppError('conflict', `${provider} does not receive messages, so it has no test.`)
    await countAttempt(
      ctx.app.driver,
      `integration-test:${userIdOf(ctx.actor)}`,
      TESTS_PER_MINUTE,
      60,
      ctx.app.clock(),
      'test messages',
    )
    const failed = await sendMessage(ctx, found, {
      event: 'test',
      id: ctx.requestId,
      createdAt: ctx.now,
      type: 'info',
      reason: 'test',
      title: 'A test message from Tutti',
      message: 'Your notifications will arrive here.',
      link: ctx.app.url,
    })
    await storeDeliveryResult(ctx, { id: found.id, error: failed?.message ?? null })
    return { delivered: !failed, error: failed?.message ?? null }
  },
)
