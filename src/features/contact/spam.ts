import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { countAttempt } from '../../auth/limits.ts'
import { hashSecret } from '../../auth/secrets.ts'
import { AppError } from '../../errors.ts'
import type { ContactSend } from './schema.ts'
import { contactMessages } from './table.ts'

/** Milliseconds between loading and sending the form: programs are faster, and old pages expire. */
const SHORTEST = 3000
const LONGEST = 2 * 3_600_000
const MOST_LINKS = 3

/** Returns a token for a form: the sealed time, so that no one else can create one. */
export const newFormToken = ({ app }: Ctx): string =>
  app.seal.close(`contact ${app.clock().getTime()} ${crypto.randomUUID()}`)

async function isTokenUsable({ app }: Ctx, token: string): Promise<boolean> {
  const [purpose, at] = app.seal.open(token)?.split(' ') ?? []
  const age = app.clock().getTime() - Number(at)
  if (purpose !== 'contact' || !(age >= SHORTEST && age <= LONGEST)) return false
  try {
    await countAttempt(app.driver, `contact-token:${hashSecret(token)}`, 1, LONGEST / 1000, app.clock(), 'uses')
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limited') return false
    throw error
  }
}

export const textHashOf = (text: string): string => hashSecret(text.toLowerCase().replace(/\s+/g, ' ').trim())

/** Returns why a message is treated as spam, or undefined. The sender does not learn it. */
export async function spamReason(
  ctx: Ctx,
  { token, website, message: written }: ContactSend,
): Promise<string | undefined> {
  if (website) return 'the hidden field was filled in'
  if (!(await isTokenUsable(ctx, token))) return 'the form was sent too soon, too late or twice'
  if ((written.match(/https?:\/\/|www\./gi)?.length ?? 0) > MOST_LINKS) return 'too many links'
  const same = await ctx.db.$count(contactMessages, eq(contactMessages.textHash, textHashOf(written)))
  return same > 0 ? 'the same text again' : undefined
}
