import { flow, write } from '../../action.ts'
import { anyone, person } from '../../auth/policy.ts'
import { provePassword } from '../accounts/password-proof.ts'
import { lockProvedUser, type Proof } from '../accounts/sessions.ts'
import { insertKey } from './keys.ts'
import type { ApiKeyCreate, ApiKeyCreated, KeyExchange } from './schema.ts'

const mintKey = write(
  'tokens.mintKey',
  person,
  async (ctx, { proof, ...wanted }: ApiKeyCreate & { proof: Proof }): Promise<ApiKeyCreated> => {
    await lockProvedUser(ctx, proof)
    return insertKey(ctx, wanted)
  },
)

/** Creates an API key for scripts. Checks the password with the limits of a sign-in. */
export const exchangeKey = flow(
  'tokens.exchangeKey',
  anyone,
  async (ctx, { email, password, name, ...wanted }: KeyExchange): Promise<ApiKeyCreated> => {
    const proof = await provePassword(ctx, { email, password })
    const actor = await ctx.app.auth.actorFor(proof.userId)
    return mintKey({ ...ctx, actor }, { proof, name: name ?? 'API key', ...wanted })
  },
)
