import type { Driver } from '../../db/driver.ts'
import type { Finding } from './finding.ts'

/** Days before its expiry for which a token causes a warning. */
const TOKEN_DAYS = 7
const MOST_TOKENS = 5

/** Finds tokens in use by agents that expire soon: an agent would fail without warning. */
export async function expiringTokens(driver: Driver): Promise<Finding> {
  const what = 'tokens'
  // The table does not exist before the first migration.
  const { rows } = await driver
    .query(
      `select t.name, u.email, greatest(0, ceil(extract(epoch from t.expires_at - now()) / 86400))::int
      from mcp_tokens t join users u on u.id = t.user_id
      where t.revoked_at is null and t.grant_id is null
        and t.expires_at between now() and now() + interval '${TOKEN_DAYS} days'
        and (t.last_used_at is null or t.last_used_at > now() - interval '30 days')
      order by t.expires_at, t.id limit ${MOST_TOKENS + 1}`,
    )
    .catch(() => ({ rows: [] }))
  if (rows.length === 0) return { what, ok: true, said: `none in use expires within ${TOKEN_DAYS} days` }
  const named = rows.slice(0, MOST_TOKENS).map(([name, email, days]) => `"${name}" of ${email} in ${days} d`)
  return {
    what,
    ok: true,
    warning: true,
    said: `expiring soon: ${named.join(', ')}${rows.length > MOST_TOKENS ? ' and more' : ''}`,
    advice: 'Their owners renew them with: tutti connect PROGRAM --yes',
  }
}
