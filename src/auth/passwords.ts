import { AppError, invalid } from '../errors.ts'
import blocked from './blocked-passwords.txt' with { type: 'text' }

/**
 * argon2id as OWASP advises (19 MiB, two passes). Two at a time, so that a flood of sign-ins cannot starve the rest.
 */
const options = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
const AT_ONCE = 2
const WAITING = 50

let running = 0
const queue: (() => void)[] = []

async function gate<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (queue.length >= WAITING)
      throw new AppError('unavailable', 'Too many people are signing in right now. Try again in a few seconds.', {
        retryAfter: 3,
      })
    await new Promise<void>((go) => queue.push(go))
  } else running++
  try {
    return await work()
  } finally {
    const next = queue.shift()
    if (next) next()
    else running--
  }
}

export const hashPassword = (password: string): Promise<string> => gate(() => Bun.password.hash(password, options))

/** Hash of a random password no one knows, with the options above. */
const DECOY =
  '$argon2id$v=19$m=19456,t=2,p=1$7M2VKmoV90gNBV0ZxzAQqt0BQ0tUtiVF1byZ0ZZGpX4' +
  '$UpdKgeeIdIFytoB5w9O9cCxuWI63i4KWK6H+OwbyipE'

/** Takes equally long for unknown and known accounts. */
export async function verifyPassword(password: string, hash: string | null | undefined): Promise<boolean> {
  const right = await gate(() => Bun.password.verify(password, hash ?? DECOY))
  return right && !!hash
}

/** True for a hash with weaker options than the current ones. The caller then stores a new hash. */
export function needsRehash(hash: string): boolean {
  const [, memory = 0, passes = 0] = (/^\$argon2id\$v=19\$m=(\d+),t=(\d+),/.exec(hash) ?? []).map(Number)
  return memory < options.memoryCost || passes < options.timeCost
}

const blockList = new Set(blocked.split('\n').filter(Boolean))

/** Checks length and a block list. No rules about kinds of characters, which only make passwords worse. */
export function checkPassword(
  password: string,
  about: { email: string; name: string; admin?: boolean },
  field = '/password',
): void {
  const least = about.admin ? 15 : 12
  if (password.length < least) throw invalid(field, `The password needs at least ${least} characters.`, 'too_short')
  const plain = password.toLowerCase()
  const stem = plain.replace(/[^a-z]/g, '')
  const own = [about.email, about.email.split('@')[0], about.name].map((text) => text?.toLowerCase())
  if (blockList.has(plain) || blockList.has(stem) || own.includes(plain) || new Set(plain).size < 5)
    throw invalid(
      field,
      'This password is too easy to guess. Three or four unrelated words make a good one.',
      'too_common',
    )
}
