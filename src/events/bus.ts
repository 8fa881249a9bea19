import { toIso } from '../db/columns.ts'
import type { Driver, Statement } from '../db/driver.ts'
import type { Log } from '../log.ts'

export interface AppEvent {
  id: string
  at: string
  type: string
  action: string
  actor: { kind: string; id: string | null; name: string }
  credentialId: string | null
  organizationId: string | null
  projectId: string | null
  userId: string | null
  subjectId: string | null
  data: Record<string, unknown>
  requestId: string
  ip: string | null
  origin: string
}

export type Listener = (event: AppEvent) => void

const names = [
  'id', 'at', 'type', 'action', 'actor_kind', 'actor_id', 'actor_name', 'credential_id', 'organization_id', 'project_id',
  'user_id', 'subject_id', 'data', 'request_id', 'ip', 'origin',
] // biome-ignore format: a list of columns
const insertText = `insert into events (${names.join(', ')}) values (${names.map((n, i) => (n === 'data' ? `$${i + 1}::text::jsonb` : `$${i + 1}`)).join(', ')})`
const CHANNEL = 'tutti_events'
const AT_ONCE = 500

export const insertEvent = (e: AppEvent): Statement => ({
  text: insertText,
  params: [
    e.id, e.at, e.type, e.action, e.actor.kind, e.actor.id, e.actor.name, e.credentialId, e.organizationId, e.projectId,
    e.userId, e.subjectId, JSON.stringify(e.data), e.requestId, e.ip, e.origin,
  ], // biome-ignore format: in the order of the columns
})

/**
 * Delivers events after their commit: at once to listeners of this process, and through NOTIFY to other instances on the same Postgres,
 * which read the rows themselves. A notification is only a hint; a slow poll makes up for a lost one.
 */
export class Bus {
  readonly #listeners = new Set<Listener>()
  #announce: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(
    private readonly driver: Driver,
    private readonly instanceId: string,
    private readonly log: Log,
  ) {}

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  deliver(events: readonly AppEvent[]): void {
    this.#dispatch(events)
    this.#announce?.()
  }

  #dispatch(events: readonly AppEvent[]): void {
    for (const event of events) {
      for (const listener of this.#listeners) {
        try {
          listener(event)
        } catch (error) {
          this.log.error('event listener failed', { type: event.type, error })
        }
      }
    }
  }

  /** The embedded database has one process by nature, so only Postgres needs this. */
  async start(): Promise<void> {
    if (this.driver.kind !== 'postgres') return
    let last = await this.#horizon()
    let reading = false
    let again = false
    const catchUp = async () => {
      if (reading) {
        again = true
        return
      }
      reading = true
      try {
        do {
          again = false
          last = await this.#readSince(last)
        } while (again)
      } catch (error) {
        this.log.debug('could not read events of other instances', { error })
      } finally {
        reading = false
      }
    }
    await this.driver.listen(CHANNEL, (origin) => {
      if (origin !== this.instanceId) void catchUp()
    })
    const poll = setInterval(catchUp, 5_000)
    poll.unref()
    let pending: Timer | undefined
    this.#announce = () => {
      // Many commits within a few milliseconds share one notification.
      pending ??= setTimeout(() => {
        pending = undefined
        this.driver.notify(CHANNEL, this.instanceId).catch(() => undefined)
      }, 5)
    }
    this.#stop = () => {
      clearInterval(poll)
      clearTimeout(pending)
      this.#announce = undefined
    }
  }

  stop(): void {
    this.#stop?.()
    this.#listeners.clear()
  }

  /** Rows below the oldest running transaction are final, so (xid, seq) never skips a transaction that commits late. */
  async #horizon(): Promise<Position> {
    const { rows } = await this.driver.query('select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text')
    return { xid: String(rows[0]?.[0]), seq: '9223372036854775807' }
  }

  async #readSince(last: Position): Promise<Position> {
    const { rows } = await this.driver.query(
      `select ${names.join(', ')}, xid::text, seq::text from events
       where xid >= $1::text::bigint and (xid, seq) > ($1::text::bigint, $2::text::bigint)
         and xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
       order by events.xid, events.seq limit ${AT_ONCE}`,
      [last.xid, last.seq],
    )
    const fresh = rows.map(fromRow)
    this.#dispatch(fresh.filter((e) => e.origin !== this.instanceId))
    const end = rows.at(-1)
    const reached = end ? { xid: String(end[names.length]), seq: String(end[names.length + 1]) } : last
    return rows.length < AT_ONCE ? reached : this.#readSince(reached)
  }
}

interface Position {
  xid: string
  seq: string
}

function fromRow(row: unknown[]): AppEvent {
  const [
    id,
    at,
    type,
    action,
    kind,
    actorId,
    name,
    credentialId,
    organizationId,
    projectId,
    userId,
    subjectId,
    data,
    requestId,
    ip,
    origin,
  ] = row as string[]
  return {
    id: id!,
    at: toIso(at!),
    type: type!,
    action: action!,
    actor: { kind: kind!, id: actorId ?? null, name: name! },
    credentialId: credentialId ?? null,
    organizationId: organizationId ?? null,
    projectId: projectId ?? null,
    userId: userId ?? null,
    subjectId: subjectId ?? null,
    data: (typeof data === 'string' ? JSON.parse(data) : data) as Record<string, unknown>,
    requestId: requestId!,
    ip: ip ?? null,
    origin: origin!,
  }
}
