import { type Ctx, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { CHALLENGE_MINUTES } from './ceremony.ts'

type Ceremony = 'passkey_register' | 'passkey_login'

/** Binds a registration to the session that started it. A sign-in has no session yet. */
const challengeBinding = ({ actor }: Ctx, ceremony: Ceremony) =>
  ceremony === 'passkey_register' ? { userId: userIdOf(actor), boundTo: actor.credentialId as string } : {}

export const issueChallenge = write(
  'passkeys.issueChallenge',
  anyone,
  (ctx, { ceremony, challenge }: { ceremony: Ceremony; challenge: string }): Promise<string> =>
    issueSecret(ctx, {
      purpose: ceremony,
      minutes: CHALLENGE_MINUTES,
      data: { challenge },
      ...challengeBinding(ctx, ceremony),
    }),
)

/** Runs in its own transaction: a wrong response must use up the challenge, too. */
export const useChallenge = write(
  'passkeys.useChallenge',
  anyone,
  async (ctx, { ceremony, sessionId }: { ceremony: Ceremony; sessionId: string }): Promise<string> => {
    const used = await redeemSecret(ctx, ceremony, sessionId, challengeBinding(ctx, ceremony).boundTo)
    if (!used)
      throw new AppError(
        'gone',
        `This passkey request was answered already or is older than ${CHALLENGE_MINUTES} minutes. Start again.`,
      )
    return used.data.challenge as string
  },
)
