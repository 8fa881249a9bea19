import { and, eq, sql } from 'drizzle-orm'
import type { Statement } from '../db/driver.ts'
import type { Db } from '../db/session.ts'
import { AppError } from '../errors.ts'
import { idempotencyKeys } from './table.ts'

const KEEP_HOURS = 24

/** Sorts the keys of objects, so that the order of fields does not make it a different request. */
const sortKeys = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

interface Key {
  credentialId: string
  key: string
}

/**
 * Claims the key inside the write's transaction, or returns the result of an earlier call with it. A second call waits
 * here until the first has committed, and then gets its result. If the first was rolled back, so was its claim, and
 * the second does the work.
 */
export async function claimIdempotencyKey(
  db: Db,
  { credentialId, key }: Key,
  action: string,
  request: unknown,
  now: string,
): Promise<{ result: unknown } | undefined> {
  const fingerprint = new Bun.CryptoHasher('sha256')
    .update(`${action}\n${JSON.stringify(request, sortKeys)}`)
    .digest('hex')
  const expiresAt = new Date(Date.parse(now) + KEEP_HOURS * 3_600_000).toISOString()
  const claimed = await db
    .insert(idempotencyKeys)
    .values({ credentialId, key, action, fingerprint, expiresAt })
    .onConflictDoUpdate({
      target: [idempotencyKeys.credentialId, idempotencyKeys.key],
      set: { action, fingerprint, expiresAt, answer: null },
      setWhere: sql`${idempotencyKeys.expiresAt} < ${now}`,
    })
    .returning({ key: idempotencyKeys.key })
  if (claimed.length > 0) return undefined
  const [earlier] = await db
    .select({ fingerprint: idempotencyKeys.fingerprint, answer: idempotencyKeys.answer })
    .from(idempotencyKeys)
    .where(and(eq(idempotencyKeys.credentialId, credentialId), eq(idempotencyKeys.key, key)))
  if (earlier?.fingerprint !== fingerprint)
    throw new AppError(
      'conflict.idempotency',
      'This Idempotency-Key was used for another request in the last 24 hours. Use a new key.',
    )
  return { result: earlier.answer }
}

export const storeIdempotentResult = (
  { credentialId, key }: Key,
  result: unknown,
  secret: readonly string[] = [],
): Statement => ({
  text: 'update idempotency_keys set answer = $3::text::jsonb where credential_id = $1 and key = $2',
  params: [
    credentialId,
    key,
    JSON.stringify(result ?? null, (name, value) => (secret.includes(name) ? undefined : value)),
  ],
})
