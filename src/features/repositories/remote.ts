import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { AppError } from '../../errors.ts'
import { createClient } from '../../outside/codehosts/client.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'
import {
  defaultBase,
  type HostAddress,
  hostAddress,
  operatorHost,
  parseRepository,
  type RepositoryName,
  saveTokenStep,
} from '../../outside/codehosts/host-address.ts'
import { hostProviders } from '../../outside/codehosts/index.ts'
import type { CodeHost, Hosted } from '../../outside/codehosts/schema.ts'
import { codeHostsOf, tokenFor } from '../integrations/service.ts'

/** All access to a repository at its host goes through here, with the caller's own token. */

/** Time limit for all calls of one request together; a request may take 30 seconds. */
const WHOLE_MS = 20_000
const PER_MINUTE = 120

/** Parses a reference. Known hosts: the operator's, GitHub, GitLab, and those that the caller has saved a token for. */
export async function parseReference(ctx: Ctx, text: string, provider?: CodeHost): Promise<RepositoryName> {
  const { config } = ctx.app
  const own = operatorHost(config)
  const saved = await codeHostsOf(ctx, userIdOf(ctx.actor))
  const usualOnes = (['github', 'gitlab'] as const).map((kind) =>
    hostAddress(config, { provider: kind, base: `https://${kind}.com` }),
  )
  const known = [own, ...saved, ...usualOnes].filter((place) => provider === undefined || place.provider === provider)
  return parseRepository(text, known, provider === undefined ? own : usualAddress(ctx, provider, saved))
}

/** Returns the host that the user has a token for; otherwise the provider's usual host. */
function usualAddress({ app }: Ctx, provider: CodeHost, saved: readonly HostAddress[]): HostAddress | undefined {
  const base = saved.find((place) => place.provider === provider)?.base ?? defaultBase(app.config, provider)
  return base === undefined ? undefined : hostAddress(app.config, { provider, base })
}

interface OpenRemote {
  remote: RemoteRepository
  signedIn: boolean
}

/** `mustSign` rejects a caller without a token before any request, for calls that no host allows anonymously. */
export async function openRemote(
  ctx: Ctx,
  { place, owner, name }: RepositoryName,
  mustSign = false,
): Promise<OpenRemote> {
  const client = await clientFor(ctx, place, userIdOf(ctx.actor))
  if (mustSign && !client.signedIn) throw tokenMissing(place)
  return { remote: hostProviders[place.provider].openRepository(client, { owner, name }), signedIn: client.signedIn }
}

async function clientFor(ctx: Ctx, place: HostAddress, userId: string) {
  await countAttempt(ctx.app.driver, `code-host:${userId}`, PER_MINUTE, 60, ctx.app.clock(), 'requests to code hosts')
  const token = await tokenFor(ctx, userId, place)
  return createClient(ctx.app, place, hostProviders[place.provider], token, AbortSignal.timeout(WHOLE_MS))
}

const tokenMissing = ({ provider, base }: HostAddress): AppError =>
  new AppError(
    'forbidden',
    `You have no token saved for ${new URL(base).host}. Save one that has ${hostProviders[provider].scopes}.`,
    { next: [saveTokenStep(provider)] },
  )

/** Uses the token of a user who is not the caller, for jobs that check evidence of that user. */
export async function openRemoteFor(
  ctx: Ctx,
  userId: string,
  { place, owner, name }: RepositoryName,
): Promise<RemoteRepository> {
  return hostProviders[place.provider].openRepository(await clientFor(ctx, place, userId), { owner, name })
}

export async function listHostedRepositories(ctx: Ctx, provider: CodeHost): Promise<Hosted[]> {
  const place = usualAddress(ctx, provider, await codeHostsOf(ctx, userIdOf(ctx.actor)))
  if (!place)
    throw new AppError('forbidden', `You have no token saved for ${provider}. Save one first.`, {
      next: [saveTokenStep(provider)],
    })
  const client = await clientFor(ctx, place, userIdOf(ctx.actor))
  if (!client.signedIn) throw tokenMissing(place)
  return hostProviders[provider].listRepositories(client)
}
