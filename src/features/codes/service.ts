import { type Ctx, flow, write } from '../../action.ts'
import type { Via } from '../../auth/actor.ts'
import {
  anyBrowser,
  CODE_MINUTES,
  dropSecrets,
  isPending,
  issueCode,
  issueSecret,
  minutesAfter,
  peekSecret,
  redeemSecret,
  tryCode,
} from '../../auth/one-time-secrets.ts'
import { anyone, machine } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import {
  type AccountQuestion,
  confirmAccountError,
  confirmMailbox,
  isAccountQuestion,
} from '../accounts/confirm-account.ts'
import { countRegistration, countSignIn, insertUser } from '../accounts/people.ts'
import type { SignedIn } from '../accounts/schema.ts'
import { signIn } from '../accounts/sessions.ts'
import { isInvited } from '../invites/received.ts'
import type { MailAnswer } from '../mail/schema.ts'
import { countMail, mailAnswer, queueMail, wipeMail } from '../mail/service.ts'
import { settingsOf } from '../settings/values.ts'
import { codeRequested, linkRequested, signInFailed } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { byEmail } from '../users/service.ts'
import { codeMail, LINK_MINUTES, linkMail } from './messages.ts'
import type { CodeSend, CodeVerify, LinkCode, LinkVerify } from './schema.ts'

/**
 * Sign-in and registration with mailed codes and links. Sending runs the same statements for every address, so that it
 * does not reveal who has an account: if no one can sign in with the address, the mail is withheld.
 */
interface Receiver {
  /** Address of the account. The typed one may be another mailbox that differs only in upper and lower case. */
  to: string
  user: User | undefined
  invited: boolean
  /** Why no one can sign in with this address. */
  withheld?: string
}

async function receiverOf(ctx: Ctx, email: string): Promise<Receiver> {
  const { registration } = await settingsOf(ctx)
  const user = await byEmail(ctx, email)
  const found = { to: user?.email ?? email.toLowerCase(), user, invited: await isInvited(ctx, email) }
  if (user) return user.status === 'active' ? found : { ...found, withheld: 'This account is suspended.' }
  if (found.invited || registration.open) return found
  return { ...found, withheld: 'This address has neither an account nor an invitation, and registration is closed.' }
}

/**
 * Signs in or registers the owner of a mailbox, in the caller's transaction, after they proved access to it. Returns a
 * question if it is not certain who created the account, and undefined if no one can sign in with the address.
 */
async function signInOrRegister(
  ctx: Ctx,
  email: string,
  how: { via: Via; browser: string },
): Promise<SignInResult | undefined> {
  const receiver = await receiverOf(ctx, email)
  if (receiver.withheld) return undefined
  const user = receiver.user ? await confirmMailbox(ctx, receiver.user, how) : await registerReceiver(ctx, receiver)
  await wipeMail(ctx, receiver.to, how.via)
  return isAccountQuestion(user) ? user : signIn(ctx, { userId: user.id, via: how.via })
}

type SignInResult = SignedIn | AccountQuestion

/** Call it after the commit. */
function requireSignedIn(answer: SignInResult): SignedIn {
  if (isAccountQuestion(answer)) throw confirmAccountError(answer)
  return answer
}

async function registerReceiver(ctx: Ctx, { to, invited }: Receiver): Promise<User> {
  // The limit of registrations does not apply to invited people.
  if (!invited) await countRegistration(ctx)
  return insertUser(ctx, { email: to, name: nameFromEmail(to), passwordHash: null, role: 'user', emailVerified: true })
}

/** Returns a first name for the profile: `ada.lovelace@example.com` gives Ada Lovelace. */
function nameFromEmail(email: string): string {
  const local = email.slice(0, email.lastIndexOf('@'))
  const words = local
    .replace(/\+.*/, '')
    .split(/[._-]+/)
    .filter(Boolean)
  return words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join(' ') || local
}

function noteFailure(ctx: Ctx, userId: string | null, via: Via): void {
  ctx.emit(signInFailed, { subjectId: userId ?? undefined, userId, data: { via } })
}

/** Call it before the transaction. Counts as a sign-in attempt, so that no network can mail many addresses. */
async function countRequest(ctx: Ctx, email: string): Promise<void> {
  await countSignIn(ctx)
  await countMail(ctx, email)
}

// ---- codes

interface Browser {
  /** Value of the cookie that marks the browser. */
  browser: string
}

const mailCode = write('codes.issue', anyone, async (ctx, { email }: CodeSend): Promise<void> => {
  const { to, user, withheld } = await receiverOf(ctx, email)
  const code = await issueCode(ctx, email, user?.id ?? null)
  await queueMail(ctx, codeMail(ctx, to, code), { withheld })
  ctx.emit(codeRequested, { subjectId: user?.id, userId: user?.id })
})

export const send = flow('codes.send', anyone, async (ctx, { email }: CodeSend): Promise<MailAnswer> => {
  await countRequest(ctx, email)
  await mailCode(ctx, { email })
  return mailAnswer(ctx)
})

const enterCode = write(
  'codes.enter',
  anyone,
  async (ctx, { email, code, browser }: CodeVerify & Browser): Promise<SignInResult | undefined> => {
    const tried = await tryCode(ctx, email, code)
    const answer = tried?.right ? await signInOrRegister(ctx, email, { via: 'code', browser }) : undefined
    // Names the user only if a code is pending: otherwise anyone could fill the audit log of a known address.
    if (!answer) noteFailure(ctx, (tried && (await byEmail(ctx, email))?.id) ?? null, 'code')
    return answer
  },
)

export const verify = flow('codes.verify', anyone, async (ctx, input: CodeVerify & Browser): Promise<SignedIn> => {
  await countSignIn(ctx)
  const answer = await enterCode(ctx, input)
  if (!answer)
    throw new AppError('unauthenticated', 'This code is wrong, was already used or has expired. Request a new code.')
  return requireSignedIn(answer)
})

// ---- links

const issueLink = write(
  'codes.issueLink',
  anyone,
  async (ctx, { email, browser }: CodeSend & Browser): Promise<void> => {
    const { to, user, withheld } = await receiverOf(ctx, email)
    const secret = await issueSecret(ctx, {
      purpose: 'magic_link',
      subject: email,
      userId: user?.id,
      minutes: LINK_MINUTES,
      boundTo: browser,
    })
    await queueMail(ctx, linkMail(ctx, to, secret), { withheld })
    ctx.emit(linkRequested, { subjectId: user?.id, userId: user?.id })
  },
)

export const sendLink = flow(
  'codes.sendLink',
  anyone,
  async (ctx, { email, browser }: CodeSend & Browser): Promise<MailAnswer> => {
    await countRequest(ctx, email)
    await issueLink(ctx, { email, browser })
    return mailAnswer(ctx)
  },
)

interface LinkUse extends LinkVerify, Browser {
  /** Value of the cookie that marks the browser while it is asked who created the account. */
  confirming: string
}

const useLink = write(
  'codes.useLink',
  anyone,
  async (ctx, { token, browser, confirming }: LinkUse): Promise<SignInResult | 'elsewhere' | undefined> => {
    const printed = await redeemSecret(ctx, 'printed_link', token)
    if (printed?.userId) return signIn(ctx, { userId: printed.userId, via: 'magic_link' })
    const found = await redeemSecret(ctx, 'magic_link', token, browser)
    const how = { via: 'magic_link' as const, browser: confirming }
    const answer = found?.subject ? await signInOrRegister(ctx, found.subject, how) : undefined
    if (answer) return answer
    const waiting = found ? undefined : await peekSecret(ctx, 'magic_link', token)
    noteFailure(ctx, found?.userId ?? waiting?.userId ?? null, 'magic_link')
    return waiting && 'elsewhere'
  },
)

// ---- the link that `tutti serve --demo` prints

/** Longer than any demo runs; the link is withdrawn when its server stops, and when the next one starts. */
const PRINTED_MINUTES = 365 * 24 * 60

/** Creates a link that signs the user in, once and in any browser. It replaces an earlier one of this user. */
export const printLink = write('codes.printLink', machine, async (ctx, { email }: CodeSend): Promise<string> => {
  const user = await byEmail(ctx, email)
  if (!user) throw notFound('user', email)
  const issue = { purpose: 'printed_link' as const, subject: user.id, userId: user.id, minutes: PRINTED_MINUTES }
  const secret = await issueSecret(ctx, issue)
  ctx.emit(linkRequested, { subjectId: user.id, userId: user.id })
  return `/magic#${secret}`
})

const dropLinks = write(
  'codes.dropLinks',
  machine,
  (ctx, _: Record<string, never>): Promise<void> => dropSecrets(ctx, 'printed_link'),
)

/** Makes printed links stop working. Writes only if there are any: a server must also start when its disk is full. */
export const withdrawLinks = flow(
  'codes.withdrawLinks',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    if (await isPending(ctx, 'printed_link')) await dropLinks(ctx, {})
  },
)

// ---- opening a link

const usedLinkError = () =>
  new AppError(
    'gone',
    'This link was already used or replaced, or has expired. Request a new link on the sign-in page.',
  )

export const verifyLink = flow('codes.verifyLink', anyone, async (ctx, input: LinkUse): Promise<SignedIn> => {
  await countSignIn(ctx)
  const answer = await useLink(ctx, input)
  if (!answer) throw usedLinkError()
  if (answer === 'elsewhere')
    throw new AppError(
      'conflict.other_browser',
      'This link was requested in another browser. Open it in that browser, or get a code to enter there.',
      { next: [{ route: 'POST /api/auth/magic-link/code' }] },
    )
  return requireSignedIn(answer)
})

const exchangeForCode = write(
  'codes.exchange',
  anyone,
  async (ctx, { token }: LinkVerify): Promise<LinkCode | undefined> => {
    const found = await redeemSecret(ctx, 'magic_link', token, anyBrowser)
    const receiver = found?.subject ? await receiverOf(ctx, found.subject) : undefined
    if (!receiver || receiver.withheld) {
      noteFailure(ctx, found?.userId ?? null, 'magic_link')
      return undefined
    }
    const { to, user } = receiver
    const code = await issueCode(ctx, to, user?.id ?? null)
    // The link is used, and the new code replaces one that may have been mailed.
    await wipeMail(ctx, to, 'magic_link', 'code')
    ctx.emit(codeRequested, { subjectId: user?.id, userId: user?.id })
    return { email: to, code, expiresAt: minutesAfter(ctx.now, CODE_MINUTES) }
  },
)

/** For a link that was opened in another browser: the code works in the browser that requested the link. */
export const exchangeLink = flow('codes.exchangeLink', anyone, async (ctx, input: LinkVerify): Promise<LinkCode> => {
  await countSignIn(ctx)
  const answer = await exchangeForCode(ctx, input)
  if (!answer) throw usedLinkError()
  return answer
})
