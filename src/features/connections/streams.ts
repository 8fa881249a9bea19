import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { App } from '../../services.ts'
import { type Stream, streamArrays, streamsChanged } from './hooks.ts'
import { openStreams, streamHolders } from './table.ts'

/**
 * Remembers which connections of agents have an open stream, so that a task or session is not taken from an agent that
 * is still there. Rows outlive a process that is killed: the next one finds them and closes the streams.
 */

const BEAT_MS = 1_500
/** A process on Postgres that has not been seen for longer counts as ended. */
const ALIVE = '4 seconds'
/** The only process on an embedded database never has to show that it is alive. */
const ALWAYS = '9999-01-01T00:00:00Z'
const seenAt = ({ driver }: App): string | null => (driver.kind === 'pglite' ? ALWAYS : null)

/**
 * SQL condition: the stream of this connection is open, in this process or another one. The columns of `open_streams`
 * get other names, because drizzle may leave out the table of the columns that are compared with them.
 */
export const isStreamOpen = (credentialId: SQLWrapper, connection: SQLWrapper): SQL<boolean> =>
  sql<boolean>`exists (select 1 from (select o.credential_id as stream_credential, o.connection as stream_connection
      from ${openStreams} o join ${streamHolders} h on h.id = o.holder_id
      where h.seen_at > now() - ${ALIVE}::interval) open
    where open.stream_credential = ${credentialId} and open.stream_connection = ${connection})`

const appear = `insert into stream_holders (id, seen_at) values ($1::uuid, coalesce($2::timestamptz, now()))
  on conflict (id) do update set seen_at = excluded.seen_at returning id, xmax = 0 as is_new`
const add = `with holder as (${appear})
  insert into open_streams (credential_id, connection, holder_id)
  select s.credential_id, s.connection, holder.id
  from holder, unnest($3::uuid[], $4::text[]) s (credential_id, connection)
  on conflict do nothing`
const drop =
  'delete from open_streams where credential_id = $1::uuid and connection = $2::text and holder_id = $3::uuid'

/** The open streams of this process. */
const ownStreams = new WeakMap<App, Map<string, Stream>>()

/** Stores that a stream of the caller's credential opened or closed in this process. */
export async function noteStream(
  ctx: Ctx,
  { connection, isOpen }: { connection: string; isOpen: boolean },
): Promise<void> {
  const { app, actor } = ctx
  const { credentialId } = actor
  if (!credentialId) return
  const own = ownStreams.get(app) ?? new Map<string, Stream>()
  ownStreams.set(app, own)
  const stream = { credentialId, connection }
  if (isOpen) {
    own.set(nameOf(stream), stream)
    return openAll(app, [stream])
  }
  own.delete(nameOf(stream))
  await app.driver.query(drop, [credentialId, connection, app.instanceId])
  await streamsChanged.call(ctx, { streams: await withoutOpenOnes(app, [stream]), isOpen })
}

const nameOf = ({ credentialId, connection }: Stream): string => `${credentialId} ${connection}`

async function openAll(app: App, streams: readonly Stream[]): Promise<void> {
  await app.driver.query(add, [app.instanceId, seenAt(app), ...streamArrays(streams)])
  await streamsChanged.call(contextOf(app, system), { streams, isOpen: true })
}

const stillOpen = `select o.credential_id::text, o.connection
  from open_streams o join stream_holders h on h.id = o.holder_id
  where (o.credential_id, o.connection) in (select * from unnest($1::uuid[], $2::text[]))
    and h.seen_at > now() - interval '${ALIVE}' and o.holder_id <> all($3::uuid[])`

/** Leaves out connections that have another open stream: a client may open the next one before it closes the last. */
async function withoutOpenOnes({ driver }: App, streams: readonly Stream[], ended: readonly string[] = []) {
  const { rows } = await driver.query(stillOpen, [...streamArrays(streams), `{${ended.join(',')}}`])
  const open = new Set(rows.map((row) => row.join(' ')))
  return streams.filter((stream) => !open.has(nameOf(stream)))
}

/** A time in the far future comes from a backup of an embedded database. */
const ended = `select o.credential_id::text, o.connection, h.id::text from stream_holders h
  left join open_streams o on o.holder_id = h.id
  where h.id <> $1::uuid and ($2::boolean or h.seen_at < now() - interval '${ALIVE}'
    or h.seen_at > now() + interval '1 day')`

/** Shows that this process is alive, and closes the streams of processes that have ended. */
async function beat(app: App): Promise<void> {
  const isOnlyProcess = app.driver.kind === 'pglite'
  const { rows: own } = await app.driver.query(appear, [app.instanceId, seenAt(app)])
  const lost = own[0]?.[1] === true ? [...(ownStreams.get(app)?.values() ?? [])] : []
  // Another process took this one for ended, for example because both had lost the database for a while.
  if (lost.length > 0) await openAll(app, lost)
  const { rows } = await app.driver.query(ended, [app.instanceId, isOnlyProcess])
  if (rows.length === 0) return
  const streams = rows.flatMap(([credentialId, connection]) =>
    credentialId === null ? [] : [{ credentialId: String(credentialId), connection: String(connection) }],
  )
  const holders = [...new Set(rows.map(([, , holderId]) => String(holderId)))]
  const closed = await withoutOpenOnes(app, streams, holders)
  // The rows are deleted last: if this process ends before that, the next one finds them again.
  await streamsChanged.call(contextOf(app, system), { streams: closed, isOpen: false })
  await app.driver.query('delete from stream_holders where id = any($1::uuid[])', [`{${holders.join(',')}}`])
  if (closed.length > 0) app.log.info('closed the streams of a process that has ended', { streams: closed.length })
}

/** Closes the streams of an earlier process before the first request is served. */
export const prepareStreams = (app: App): Promise<void> => beat(app)

/** Beats while streams are open, and for the first seconds: a process that was just killed still looks alive then. */
export function keepStreams(app: App): () => Promise<void> {
  if (app.driver.kind === 'pglite') return () => forget(app)
  let running: Promise<void> = Promise.resolve()
  let left = 5
  const timer = setInterval(() => {
    if (left-- <= 0 && !app.gauges.mcpStreams?.()) return
    running = running.then(() => beat(app)).catch((error) => app.log.debug('streams were not kept', { error }))
  }, BEAT_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
    await forget(app)
  }
}

/** A process that stops has closed its streams. */
const forget = ({ driver, instanceId }: App): Promise<void> =>
  driver.query('delete from stream_holders where id = $1::uuid', [instanceId]).then(
    () => undefined,
    () => undefined,
  )
