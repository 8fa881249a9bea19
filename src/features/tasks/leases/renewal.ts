import type { Ctx } from '../../../action.ts'
import { isInPerson, membershipsWith } from '../../../auth/actor.ts'
import { idList } from '../../../db/columns.ts'
import type { App } from '../../../services.ts'
import { type Stream, streamArrays } from '../../connections/hooks.ts'

/**
 * One statement stores the calls and leases of a worker. `$7` and `$8`: minutes and the calls in each. `$9`: the named
 * tasks, if only their leases and those of the named session are renewed. `$10`: the projects that the credential is
 * limited to, or null.
 */
const renewal = `with counted as (
    insert into call_minutes (credential_id, connection, minute, calls)
    select $2::uuid, coalesce($3::text, ''), m.minute, m.calls
    from unnest($7::timestamptz[], $8::int[]) m (minute, calls)
    on conflict (credential_id, connection, minute) do update set calls = call_minutes.calls + excluded.calls)
  update tasks set lease_seen_at = $1::timestamptz, lease_closed_at = null,
    lease_expires_at = greatest(lease_expires_at, $1::timestamptz + (lease_expires_at - lease_seen_at))
  where id in (select id from tasks where
      ((lease_credential_id = $2::uuid and lease_connection is not distinct from $3::text
        and ($4::text is null or lease_session_id is null or starts_with(lease_session_id::text, $4::text))
        and ($9::text[] is null or starts_with(lease_session_id::text, $4::text)
          or exists (select 1 from unnest($9::text[]) n (name) where length(name) >= 8 and starts_with(id::text, name))
          or (select p.key from projects p where p.id = tasks.project_id) || '-' || number = any($9::text[])))
      or (lease_credential_id is null and lease_holder_id = $5::uuid))
    and lease_expires_at > $1::timestamptz and organization_id = any($6::uuid[])
    and ($10::uuid[] is null or project_id = any($10::uuid[])) order by id for no key update)`
/** Must be shorter than the shortest lease. */
const RENEW_EVERY_MS = 20_000
const MOST_WORKERS = 10_000

interface WorkerActivity {
  /** When its leases were renewed last. */
  at: number
  /** Calls that are not stored yet, by the beginning of their minute. */
  calls: Map<number, number>
  /** When the leases of tasks that calls named were renewed last, for workers without a connection. */
  named: Map<string, number>
}
const activityByApp = new WeakMap<App, Map<string, WorkerActivity>>()

/** Returns the activity of a worker. If there are too many workers, drops the one that was silent for longest. */
function activityOf(app: App, worker: string): WorkerActivity {
  const all = activityByApp.get(app) ?? new Map<string, WorkerActivity>()
  activityByApp.set(app, all)
  const seen = all.get(worker) ?? { at: 0, calls: new Map(), named: new Map() }
  all.delete(worker)
  all.set(worker, seen)
  if (all.size > MOST_WORKERS) all.delete(all.keys().next().value as string)
  return seen
}

/**
 * Renews the caller's leases for their chosen time, and counts the call. Runs for every call, so that active workers
 * keep their tasks. Only its worker renews a lease: the credential, the connection and, if the call names one, the
 * session that took it; not their user, who may use the browser long after the agent has stopped. Windows of one token
 * without connections cannot be told apart, so such a call renews only leases whose task or session it names. It writes
 * at most every 20 seconds, in parallel to the call, which does not wait for it; it changes only the lease and emits no
 * event. It renews nothing in a team that the caller has left or may only read. Calls of people in a browser are not
 * counted, because pages poll.
 */
export async function renewLeases(
  { app, actor, connection }: Pick<Ctx, 'app' | 'actor' | 'connection'>,
  { session, tasks = [] }: { session?: string; tasks?: readonly string[] } = {},
): Promise<void> {
  const { credentialId, agent } = actor
  if (!credentialId) return
  const now = app.clock()
  const seen = activityOf(app, [credentialId, connection, session].join(' '))
  const minute = now.getTime() - (now.getTime() % 60_000)
  if (!isInPerson(actor)) seen.calls.set(minute, (seen.calls.get(minute) ?? 0) + 1)
  const isWithoutConnection = actor.kind === 'mcp_token' && connection === undefined
  const isDue = (at: number) => now.getTime() - at >= RENEW_EVERY_MS
  const named = isWithoutConnection ? tasks.map(toStoredName).filter((name) => isDue(seen.named.get(name) ?? 0)) : []
  if (!isDue(seen.at) && named.length === 0) return
  const { at: before, calls } = seen
  Object.assign(seen, { at: now.getTime(), calls: new Map() })
  rememberNamed(seen, named, now.getTime())
  const places = idList([...membershipsWith(actor, 'member'), ...actor.reach])
  const minutes = `{${[...calls.keys()].map((at) => new Date(at).toISOString()).join(',')}}`
  const names = isWithoutConnection ? `{${named.map((name) => JSON.stringify(name)).join(',')}}` : null
  try {
    await app.driver.query(renewal, [
      now.toISOString(), credentialId, connection ?? null, session ?? null, agent?.id ?? null, places,
      minutes, `{${[...calls.values()].join(',')}}`, names, actor.projects ? idList(actor.projects) : null,
    ]) // biome-ignore format: in the order of the placeholders
  } catch (error) {
    seen.at = before
    for (const name of named) seen.named.delete(name)
    for (const [at, n] of calls) seen.calls.set(at, (seen.calls.get(at) ?? 0) + n)
    app.log.debug('leases not renewed', { error })
  }
}

const MOST_NAMED = 50

/** Remembers that the leases of these tasks are renewed now, and drops those that were named longest ago. */
function rememberNamed({ named }: WorkerActivity, names: readonly string[], now: number): void {
  for (const name of names) {
    named.delete(name)
    named.set(name, now)
    if (named.size > MOST_NAMED) named.delete(named.keys().next().value as string)
  }
}

/** Returns the key, id or id prefix of a task as it is stored. */
const toStoredName = (ref: string): string =>
  /^[0-9a-f]{8}[0-9a-f-]*$/i.test(ref.trim()) ? ref.trim().toLowerCase() : ref.trim().toUpperCase()

const markClosed = `update tasks set lease_closed_at = $1::timestamptz where id in (select t.id from tasks t
  join unnest($2::uuid[], $3::text[]) s (credential_id, connection)
    on t.lease_credential_id = s.credential_id and t.lease_connection = s.connection
  order by t.id for no key update of t)`

/** Marks on the leases of these connections that their streams are closed or open. Emits no event, like a renewal. */
export async function markLeaseStreams(
  { app }: Pick<Ctx, 'app'>,
  { streams, isOpen }: { streams: readonly Stream[]; isOpen: boolean },
): Promise<void> {
  if (streams.length === 0) return
  const closedAt = isOpen ? null : app.clock().toISOString()
  await app.driver.query(markClosed, [closedAt, ...streamArrays(streams)])
}
