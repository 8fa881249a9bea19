import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { AppError } from '../../errors.ts'
import { createClient } from '../../outside/codehosts/client.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'
import { hostProviders } from '../../outside/codehosts/index.ts'
import {
  type Named,
  named,
  operators,
  type Place,
  placeAt,
  saveToken,
  usualBase,
} from '../../outside/codehosts/places.ts'
import type { CodeHost, Hosted } from '../../outside/codehosts/schema.ts'
import { codeHostsOf, tokenFor } from '../integrations/service.ts'

/** From a name to the repository at its host, with the caller's own token: there is no other way to one. */

/** For all calls that one request makes; a request has 30 seconds. */
const WHOLE_MS = 20_000
const PER_MINUTE = 120

/** The operator's host, GitHub, GitLab, and where the caller has saved a token for. */
export async function reference(ctx: Ctx, text: string, provider?: CodeHost): Promise<Named> {
  const { config } = ctx.app
  const own = operators(config)
  const saved = await codeHostsOf(ctx, userIdOf(ctx.actor))
  const usualOnes = (['github', 'gitlab'] as const).map((kind) =>
    placeAt(config, { provider: kind, base: `https://${kind}.com` }),
  )
  const known = [own, ...saved, ...usualOnes].filter((place) => provider === undefined || place.provider === provider)
  return named(text, known, provider === undefined ? own : usualPlace(ctx, provider, saved))
}

/** Where somebody has a token for; else the usual one of that kind. */
function usualPlace({ app }: Ctx, provider: CodeHost, saved: readonly Place[]): Place | undefined {
  const base = saved.find((place) => place.provider === provider)?.base ?? usualBase(app.config, provider)
  return base === undefined ? undefined : placeAt(app.config, { provider, base })
}

export interface Reached {
  remote: RemoteRepository
  signedIn: boolean
}

/** `mustSign`: what strangers cannot do anywhere is not even asked without a token. */
export async function reach(ctx: Ctx, { place, owner, name }: Named, mustSign = false): Promise<Reached> {
  const client = await clientFor(ctx, place, userIdOf(ctx.actor))
  if (mustSign && !client.signedIn) throw tokenMissing(place)
  return { remote: hostProviders[place.provider].at(client, { owner, name }), signedIn: client.signedIn }
}

async function clientFor(ctx: Ctx, place: Place, userId: string) {
  await countAttempt(ctx.app.driver, `code-host:${userId}`, PER_MINUTE, 60, ctx.app.clock(), 'requests to code hosts')
  const token = await tokenFor(ctx, userId, place)
  return createClient(ctx.app, place, hostProviders[place.provider], token, AbortSignal.timeout(WHOLE_MS))
}

const tokenMissing = ({ provider, base }: Place): AppError =>
  new AppError(
    'forbidden',
    `You have no token saved for ${new URL(base).host}. Save one that has ${hostProviders[provider].scopes}.`,
    { next: [saveToken(provider)] },
  )

/** With the token of somebody who is not there just now: for what he has reported. */
export async function reachFor(ctx: Ctx, userId: string, { place, owner, name }: Named): Promise<RemoteRepository> {
  return hostProviders[place.provider].at(await clientFor(ctx, place, userId), { owner, name })
}

export async function hosted(ctx: Ctx, provider: CodeHost): Promise<Hosted[]> {
  const place = usualPlace(ctx, provider, await codeHostsOf(ctx, userIdOf(ctx.actor)))
  if (!place)
    throw new AppError('forbidden', `You have no token saved for ${provider}. Save one first.`, {
      next: [saveToken(provider)],
    })
  const client = await clientFor(ctx, place, userIdOf(ctx.actor))
  if (!client.signedIn) throw tokenMissing(place)
  return hostProviders[provider].mine(client)
}
