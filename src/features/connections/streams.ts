import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { App } from '../../services.ts'
import { type Stream, streamArrays, streamsChanged } from './hooks.ts'
import { findEndedProcess, writeProcessNote } from './process-note.ts'
import { openStreams, streamHolders } from './table.ts'

/**
 * Stores which connections of agents have an open stream, so that a task or session is not taken from a connected
 * agent. Rows outlive a process that is killed: the next process finds them and closes the streams.
 */

const BEAT_MS = 1_500
/** A process on Postgres that has not been seen for longer counts as ended. */
const ALIVE = '4 seconds'
/** The only process on an embedded database never has to show that it is alive. */
const ALWAYS = '9999-01-01T00:00:00Z'
const holderSeenAt = ({ driver }: App): string | null => (driver.kind === 'pglite' ? ALWAYS : null)

/**
 * SQL condition: the stream of this connection is open, in this process or another one. The columns of `open_streams`
 * have aliases, because drizzle may omit the table of the columns that they are compared with.
 */
export const isStreamOpen = (credentialId: SQLWrapper, connection: SQLWrapper): SQL<boolean> =>
  sql<boolean>`exists (select 1 from (select o.credential_id as stream_credential, o.connection as stream_connection
      from ${openStreams} o join ${streamHolders} h on h.id = o.holder_id
      where h.seen_at > now() - ${ALIVE}::interval) open
    where open.stream_credential = ${credentialId} and open.stream_connection = ${connection})`

const showHolder = `insert into stream_holders (id, seen_at) values ($1::uuid, coalesce($2::timestamptz, now()))
  on conflict (id) do update set seen_at = excluded.seen_at returning id, xmax = 0 as is_new`
const insertStreams = `with holder as (${showHolder})
  insert into open_streams (credential_id, connection, holder_id)
  select s.credential_id, s.connection, holder.id
  from holder, unnest($3::uuid[], $4::text[]) s (credential_id, connection)
  on conflict do nothing`
const deleteStream =
  'delete from open_streams where credential_id = $1::uuid and connection = $2::text and holder_id = $3::uuid'

const countStreams = 'select count(*)::int from open_streams where holder_id = $1::uuid'
const deleteOthers = `delete from open_streams where holder_id = $1::uuid
  and (credential_id, connection) not in (select * from unnest($2::uuid[], $3::text[]))`

/** The open streams of this process. */
const ownStreams = new WeakMap<App, Map<string, Stream>>()

/** Stores that a stream of the caller's credential opened or closed in this process. */
export async function recordStream(
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
    own.set(streamKey(stream), stream)
    return openStreamsOf(app, [stream])
  }
  own.delete(streamKey(stream))
  const streams = await withoutOpenStreams(app, [stream], [app.instanceId])
  await streamsChanged.call(ctx, { streams, isOpen })
  await app.driver.query(deleteStream, [credentialId, connection, app.instanceId])
}

const streamKey = ({ credentialId, connection }: Stream): string => `${credentialId} ${connection}`

async function openStreamsOf(app: App, streams: readonly Stream[]): Promise<void> {
  await app.driver.query(insertStreams, [app.instanceId, holderSeenAt(app), ...streamArrays(streams)])
  await streamsChanged.call(contextOf(app, system), { streams, isOpen: true })
}

const findOpen = `select o.credential_id::text, o.connection
  from open_streams o join stream_holders h on h.id = o.holder_id
  where (o.credential_id, o.connection) in (select * from unnest($1::uuid[], $2::text[]))
    and h.seen_at > now() - interval '${ALIVE}' and o.holder_id <> all($3::uuid[])`

/** Leaves out connections that have another open stream: a client may open a new one before it closes the old one. */
async function withoutOpenStreams({ driver }: App, streams: readonly Stream[], ended: readonly string[] = []) {
  const { rows } = await driver.query(findOpen, [...streamArrays(streams), `{${ended.join(',')}}`])
  const open = new Set(rows.map((row) => row.join(' ')))
  return streams.filter((stream) => !open.has(streamKey(stream)))
}

/** A time in the far future comes from a backup of an embedded database. */
const isStale = `($2::boolean or id = $3::uuid or seen_at < now() - interval '${ALIVE}' or seen_at > now() + interval '1 day')`
const findEnded = `select o.credential_id::text, o.connection, h.id::text from stream_holders h
  left join open_streams o on o.holder_id = h.id where h.id <> $1::uuid and ${isStale}`

/** Stores that this process is alive, and stores its open streams again if their number differs. */
async function showAlive(app: App): Promise<void> {
  await app.driver.query(showHolder, [app.instanceId, holderSeenAt(app)])
  const own = [...(ownStreams.get(app)?.values() ?? [])]
  const { rows } = await app.driver.query(countStreams, [app.instanceId])
  if (rows[0]?.[0] === own.length) return
  // A statement failed, or another process removed them while this one could not reach the database.
  await app.driver.query(deleteOthers, [app.instanceId, ...streamArrays(own)])
  await openStreamsOf(app, own)
}

/** Closes the streams of processes that have ended: those that were not seen for long, and the given one. */
async function closeEnded(app: App, ended: string | null = null): Promise<void> {
  const isOnlyProcess = app.driver.kind === 'pglite'
  const { rows } = await app.driver.query(findEnded, [app.instanceId, isOnlyProcess, ended])
  if (rows.length === 0) return
  const streams = rows.flatMap(([credentialId, connection]) =>
    credentialId === null ? [] : [{ credentialId: String(credentialId), connection: String(connection) }],
  )
  const holders = [...new Set(rows.map(([, , holderId]) => String(holderId)))]
  const closed = await withoutOpenStreams(app, streams, holders)
  // The rows are deleted last: if this process ends before that, the next one finds them again.
  await streamsChanged.call(contextOf(app, system), { streams: closed, isOpen: false })
  const ids = `{${holders.join(',')}}`
  const remove = `delete from stream_holders where id = any($1::uuid[]) and ${isStale}`
  await app.driver.query(remove, [ids, isOnlyProcess, ended])
  if (closed.length > 0) app.log.info('closed the streams of a process that has ended', { streams: closed.length })
}

/** Closes the streams of an earlier process before the first request is served. */
export async function prepareStreams(app: App): Promise<void> {
  await showAlive(app)
  if (app.driver.kind === 'pglite') return closeEnded(app)
  await closeEnded(app, findEndedProcess(app))
  writeProcessNote(app)
}

/**
 * Regularly stores that this process is alive, while it has open streams and for the first seconds, in which a process
 * that was just killed still looks alive. After a pause of the database all processes look ended, so one interval is
 * skipped before streams are closed.
 */
export function maintainStreams(app: App): () => Promise<void> {
  if (app.driver.kind === 'pglite') return () => removeHolder(app)
  let running: Promise<void> = Promise.resolve()
  let turns = 5
  let lastAt = Date.now()
  const turn = async () => {
    await showAlive(app)
    const isRegular = Date.now() - lastAt < 2 * BEAT_MS
    lastAt = Date.now()
    if (isRegular) await closeEnded(app)
  }
  const timer = setInterval(() => {
    if (turns-- <= 0 && !app.gauges.mcpStreams?.()) return
    running = running.then(turn).catch((error) => app.log.debug('open streams were not stored', { error }))
  }, BEAT_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
    await removeHolder(app)
  }
}

const removeHolder = ({ driver, instanceId }: App): Promise<void> =>
  driver.query('delete from stream_holders where id = $1::uuid', [instanceId]).then(
    () => undefined,
    () => undefined,
  )
