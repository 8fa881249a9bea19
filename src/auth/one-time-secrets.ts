import { createHmac, randomInt } from 'node:crypto'
import { and, eq, gt, isNotNull, isNull, lt, notInArray, sql } from 'drizzle-orm'
import { newId } from '../db/columns.ts'
import { type Db, placeholders, prepareDeferred, prepareForms } from '../db/session.ts'
import type { Seal } from './seal.ts'
import { deriveKey, hashSecret, newSecret, secretKind } from './secrets.ts'
import { type Purpose, oneTimeSecrets as table } from './table.ts'

interface Call {
  readonly db: Db
  readonly now: string
}

/** Codes also need keys, because they are short enough to be guessed. */
interface CodeCall extends Call {
  readonly app: { readonly secret: string; readonly seal: Seal }
}

interface Issue {
  purpose: Purpose
  minutes: number
  /** An e-mail address or a user's id. An unused secret of the same purpose and subject stops working. */
  subject?: string
  userId?: string | null
  /** The cookie of the browser, if the secret works only there. */
  boundTo?: string
  data?: Record<string, unknown>
}

interface RedeemedSecret {
  id: string
  subject: string | null
  userId: string | null
  data: Record<string, unknown>
}

const NOW = sql.placeholder('now')
const secretColumns = { id: table.id, subject: table.subject, userId: table.userId, data: table.data }
/** Returns the time this many minutes later. */
export const minutesAfter = (now: string, minutes: number): string =>
  new Date(Date.parse(now) + minutes * 60_000).toISOString()
const normal = (subject: string): string => subject.toLowerCase()

/**
 * Replaces the unused secret of the same purpose and subject in the same statement, so that of two concurrent ones only
 * one stays valid.
 */
const store = prepareDeferred((db) =>
  db
    .insert(table)
    .values({
      ...placeholders(
        'id',
        'purpose',
        'subject',
        'userId',
        'hash',
        'sealed',
        'boundTo',
        'data',
        'createdAt',
        'expiresAt',
      ),
      attempts: 0,
    })
    .onConflictDoUpdate({
      target: [table.purpose, table.subject],
      targetWhere: isNull(table.usedAt),
      set: {
        id: sql`excluded.id`,
        userId: sql`excluded.user_id`,
        hash: sql`excluded.hash`,
        sealed: sql`excluded.sealed`,
        boundTo: sql`excluded.bound_to`,
        data: sql`excluded.data`,
        attempts: 0,
        createdAt: sql`excluded.created_at`,
        expiresAt: sql`excluded.expires_at`,
      },
    }),
)

function storeSecret(
  ctx: Call,
  { purpose, minutes, subject, userId, boundTo, data }: Issue,
  hash: string,
  sealed?: string,
): void {
  store(ctx.db, {
    id: newId(),
    userId: userId ?? null,
    hash,
    sealed: sealed ?? null,
    boundTo: boundTo === undefined ? null : hashSecret(boundTo),
    data: data ?? {},
    createdAt: ctx.now,
    expiresAt: minutesAfter(ctx.now, minutes),
    purpose,
    subject: subject === undefined ? null : normal(subject),
  })
}

/** Creates a secret in the running transaction. */
export async function issueSecret(ctx: Call, issue: Issue): Promise<string> {
  const secret = newSecret('once')
  storeSecret(ctx, issue, hashSecret(secret))
  return secret
}

/** For a bound secret that may be used in another browser too, with fewer rights. */
export const anyBrowser = Symbol('any browser')

const using = prepareForms((db, { bound }: { bound: 'any' | 'no' | 'yes' }) =>
  db
    .update(table)
    .set({ usedAt: sql`${NOW}::timestamptz` })
    .where(
      and(
        eq(table.purpose, sql.placeholder('purpose')),
        isNull(table.usedAt),
        gt(table.expiresAt, NOW),
        eq(table.hash, sql.placeholder('hash')),
        bound === 'any' ? undefined : bound === 'no' ? isNull(table.boundTo) : eq(table.boundTo, sql.placeholder('to')),
      ),
    )
    .returning(secretColumns),
)

/**
 * One statement decides. Concurrent callers: exactly one wins. Returns undefined when the secret is unknown, used,
 * expired, for another purpose or bound to another browser.
 */
export async function redeemSecret(
  ctx: Call,
  purpose: Purpose,
  secret: string,
  boundTo?: string | typeof anyBrowser,
): Promise<RedeemedSecret | undefined> {
  if (secretKind(secret) !== 'once') return undefined
  const bound = boundTo === anyBrowser ? 'any' : boundTo === undefined ? 'no' : 'yes'
  const to = typeof boundTo === 'string' ? hashSecret(boundTo) : null
  const [found] = await using(ctx.db, { bound }, { now: ctx.now, purpose, hash: hashSecret(secret), to })
  return found
}

/** Reads a secret that was used before; undefined for one that was not, or is unknown. */
export async function findSpentSecret(
  ctx: Call,
  purpose: Purpose,
  secret: string,
): Promise<RedeemedSecret | undefined> {
  const [found] = await ctx.db
    .select(secretColumns)
    .from(table)
    .where(and(eq(table.purpose, purpose), eq(table.hash, hashSecret(secret)), isNotNull(table.usedAt)))
  return found
}

/** Reads a secret without using it. `boundTo`: only if it is bound to this browser. */
export async function peekSecret(
  ctx: Call,
  purpose: Purpose,
  secret: string,
  boundTo?: string,
): Promise<RedeemedSecret | undefined> {
  if (secretKind(secret) !== 'once') return undefined
  const inBrowser = boundTo === undefined ? undefined : eq(table.boundTo, hashSecret(boundTo))
  const [found] = await ctx.db
    .select(secretColumns)
    .from(table)
    .where(and(usable(ctx, purpose), eq(table.hash, hashSecret(secret)), inBrowser))
  return found
}

/** Deletes the pending secrets of a purpose. Default: for all subjects. */
export async function dropSecrets(ctx: Call, purpose: Purpose, subject?: string): Promise<void> {
  const about = subject === undefined ? undefined : eq(table.subject, normal(subject))
  await ctx.db.delete(table).where(and(eq(table.purpose, purpose), about, isNull(table.usedAt)))
}

/** Secrets for the owner of the mailbox, which the user of the account must not be able to delete. */
const ofMailbox: Purpose[] = ['email_undo', 'confirm_account']

/** Deletes all pending secrets of a user, except those that belong to the owner of the mailbox. */
export async function dropSecretsOf(ctx: Call, userId: string): Promise<void> {
  await ctx.db
    .delete(table)
    .where(and(eq(table.userId, userId), isNull(table.usedAt), notInArray(table.purpose, ofMailbox)))
}

/** Returns the pending secret for this subject, if any. */
export async function findPendingSecret(
  ctx: Call,
  purpose: Purpose,
  subject: string,
): Promise<RedeemedSecret | undefined> {
  const [found] = await ctx.db
    .select(secretColumns)
    .from(table)
    .where(and(usable(ctx, purpose), eq(table.subject, normal(subject))))
    .limit(1)
  return found
}

/** Returns whether there is an unused secret for this purpose; it may have expired. */
export async function isPending({ db }: Call, purpose: Purpose): Promise<boolean> {
  return (await db.$count(table, and(eq(table.purpose, purpose), isNull(table.usedAt)))) > 0
}

const usable = (ctx: Call, purpose: Purpose) =>
  and(eq(table.purpose, purpose), isNull(table.usedAt), gt(table.expiresAt, ctx.now))

// ---- six digits

export const CODE_MINUTES = 10
const CODE_TRIES = 5

/** Uses the system's random generator; every code is equally likely. */
export const newCode = (): string => String(randomInt(1_000_000)).padStart(6, '0')

const codeHash = (ctx: CodeCall, email: string, code: string): string =>
  createHmac('sha256', deriveKey(ctx.app.secret, 'code'))
    .update(`${normal(email)}:${code}`)
    .digest('hex')

/**
 * Creates a code in the running transaction. Also stores it sealed, for the administrator of an instance that cannot
 * send mail.
 */
export async function issueCode(ctx: CodeCall, email: string, userId: string | null): Promise<string> {
  const code = newCode()
  storeSecret(
    ctx,
    { purpose: 'code', subject: email, userId, minutes: CODE_MINUTES },
    codeHash(ctx, email, code),
    ctx.app.seal.close(code),
  )
  return code
}

/**
 * Counts the attempt and decides in one statement. Returns undefined if no code is pending. Does not throw if the code
 * is wrong, because a throw would roll back the count.
 */
export async function tryCode(ctx: CodeCall, email: string, code: string): Promise<{ right: boolean } | undefined> {
  const right = sql`${table.hash} = ${codeHash(ctx, email, code)}`
  const [found] = await ctx.db
    .update(table)
    .set({
      attempts: sql`${table.attempts} + 1`,
      usedAt: sql`case when ${right} then ${ctx.now}::timestamptz end`,
      sealed: sql`case when ${right} or ${table.attempts} + 1 >= ${CODE_TRIES} then null else ${table.sealed} end`,
    })
    .where(and(usable(ctx, 'code'), eq(table.subject, normal(email)), lt(table.attempts, CODE_TRIES)))
    .returning({ usedAt: table.usedAt })
  return found && { right: found.usedAt !== null }
}

/** Returns the code that is still valid for this address, for `GET /api/admin/users/:id/otp`. */
export async function revealCode(
  ctx: CodeCall,
  email: string,
): Promise<{ code: string; createdAt: string; expiresAt: string } | undefined> {
  const [found] = await ctx.db
    .select({ sealed: table.sealed, createdAt: table.createdAt, expiresAt: table.expiresAt })
    .from(table)
    .where(and(usable(ctx, 'code'), eq(table.subject, normal(email)), lt(table.attempts, CODE_TRIES)))
  const code = found?.sealed ? ctx.app.seal.open(found.sealed) : undefined
  return found && code ? { code, createdAt: found.createdAt, expiresAt: found.expiresAt } : undefined
}
