import type { Ctx } from '../../action.ts'
import { organizationsOf } from '../../auth/actor.ts'
import { idList } from '../../db/columns.ts'
import type { App } from '../../services.ts'

const renewal = `update tasks set lease_seen_at = $1::timestamptz, lease_closed_at = null,
    lease_expires_at = greatest(lease_expires_at, $1::timestamptz + (lease_expires_at - lease_seen_at))
  where id in (select id from tasks where
      ((lease_credential_id = $2::uuid and lease_connection is not distinct from $3::text
        and ($4::text is null or lease_session_id is null or starts_with(lease_session_id::text, $4::text)))
      or (lease_credential_id is null and lease_holder_id = $5::uuid))
    and lease_expires_at > $1::timestamptz and organization_id = any($6::uuid[]) order by id for no key update)`
/** Must be shorter than the shortest lease. */
const RENEW_EVERY_MS = 20_000
const MOST_WORKERS = 10_000
const renewed = new WeakMap<App, Map<string, number>>()

/**
 * Renews the caller's leases for the time they asked for. Runs for every call, so that active workers keep their tasks.
 * A lease is renewed by its worker: by the credential, the connection and, if the call names one, the session that took
 * it; not by their user, who may be in the browser while their agent is long gone. It runs every 20 seconds at most and
 * in parallel to the call, which does not wait for it; it changes only the lease and emits no event. It renews nothing
 * in a team that the caller has left or may only read.
 */
export async function renewLeases(
  { app, actor, connection }: Pick<Ctx, 'app' | 'actor' | 'connection'>,
  session?: string,
): Promise<void> {
  const { credentialId, agent } = actor
  if (!credentialId) return
  const worker = [credentialId, connection, session].join(' ')
  const now = app.clock()
  const seen = renewed.get(app) ?? new Map<string, number>()
  if (now.getTime() - (seen.get(worker) ?? 0) < RENEW_EVERY_MS) return
  renewed.set(app, seen)
  seen.delete(worker)
  seen.set(worker, now.getTime())
  if (seen.size > MOST_WORKERS) seen.delete(seen.keys().next().value as string)
  const places = idList([...organizationsOf(actor, 'member'), ...actor.reach])
  try {
    await app.driver.query(renewal, [
      now.toISOString(), credentialId, connection ?? null, session ?? null, agent?.id ?? null, places,
    ]) // biome-ignore format: in the order of the placeholders
  } catch (error) {
    seen.delete(worker)
    app.log.debug('leases not renewed', { error })
  }
}

const mark = `update tasks set lease_closed_at = $1::timestamptz where id in (select id from tasks
  where lease_credential_id = $2::uuid and lease_connection = $3::text order by id for no key update)`

/** Notes on the leases of a connection that it closed, or that it is open again. Emits no event, like a renewal. */
export async function markConnection(
  { app, actor }: Pick<Ctx, 'app' | 'actor'>,
  { connection, isOpen }: { connection: string; isOpen: boolean },
): Promise<void> {
  const closedAt = isOpen ? null : app.clock().toISOString()
  await app.driver.query(mark, [closedAt, actor.credentialId, connection])
}
