import { eq } from 'drizzle-orm'
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { type Ctx, contextOf, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { meta } from '../../db/table.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'

/** The key that identifies this server to push services (VAPID, RFC 8292). Created once, and stored sealed. */
const NAME = 'push.key'
const HOURS = 12

const storedKey = async (ctx: Ctx): Promise<string | undefined> =>
  (await ctx.db.select({ value: meta.value }).from(meta).where(eq(meta.key, NAME)))[0]?.value

const createKey = write(
  'push.createKey',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const value = ctx.app.seal.close(JSON.stringify(await exportJWK(privateKey)))
    // Of several instances that start at once, the first one stores its key.
    await ctx.db.insert(meta).values({ key: NAME, value }).onConflictDoNothing()
  },
  { bookkeeping: true },
)

/** Creates the key at the first start with PUSH=on. */
export async function prepareKey(app: App): Promise<void> {
  const ctx = contextOf(app, system)
  if (app.config.PUSH === 'on' && (await storedKey(ctx)) === undefined) await createKey(ctx, {})
}

async function privateKeyOf(ctx: Ctx): Promise<JWK> {
  const sealed = await storedKey(ctx)
  const text = sealed && ctx.app.seal.open(sealed)
  if (!text) throw new AppError('internal', 'The key for push notifications is missing, or of another master secret.')
  return JSON.parse(text) as JWK
}

/** Returns the public part of a key as browsers and push services take it: an uncompressed point. */
const publicPartOf = ({ x = '', y = '' }: JWK): string =>
  Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString('base64url')

export const readPublicKey = async (ctx: Ctx): Promise<string> => publicPartOf(await privateKeyOf(ctx))

/** Returns the header that proves to the push service of this address who sends the message. */
export async function authorizationFor(ctx: Ctx, endpoint: string): Promise<string> {
  const key = await privateKeyOf(ctx)
  const now = Math.floor(ctx.app.clock().getTime() / 1000)
  const token = await new SignJWT()
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(new URL(endpoint).origin)
    .setSubject(contactOf(ctx.app))
    .setExpirationTime(now + HOURS * 3600)
    .sign(await importJWK(key, 'ES256'))
  return `vapid t=${token}, k=${publicPartOf(key)}`
}

/** Push services want an address of the operator: https or mailto. */
const contactOf = ({ url }: App): string =>
  url.startsWith('https:') ? url : `mailto:tutti@${new URL(url).hostname || 'localhost'}`
