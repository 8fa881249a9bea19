import { afterEach, describe, expect, test } from 'bun:test'
import { Upload, uploadLimits } from '../../src/tunnel/actions/upload.ts'
import { type RequestHead, resetCodes } from '../../src/tunnel/frames.ts'
import { McpSessions, mcpLimits } from '../../src/tunnel/mcp/sessions.ts'
import { awaitResponse } from '../../src/tunnel/response-timeout.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import { StreamReset } from '../../src/tunnel/stream.ts'
import { until } from '../support/until.ts'

/** Limits that take minutes in real use. */
describe('sessions with MCP servers', () => {
  let now = 0
  let sessions: McpSessions
  afterEach(() => sessions.stop())
  const start = () => {
    now = 0
    sessions = new McpSessions({}, () => now)
  }
  const open = () => sessions.open('local', { argv: ['cat'] }, 'somebody')

  test('are at most eight; the longest idle one is closed for a new one', () => {
    start()
    const all = Array.from({ length: mcpLimits.sessions }, () => {
      now++
      return open()
    })
    expect(sessions.size).toBe(8)
    // All are in use: each has a listener.
    const leave = all.map((session) => session?.listen(() => undefined))
    expect(open()).toBeUndefined()
    now += 10
    leave[5]?.()
    now += 10
    leave[2]?.()
    expect(open()).toBeDefined()
    expect([all[5]?.isClosed, all[2]?.isClosed, sessions.size]).toEqual([true, false, 8])
    expect(sessions.find(all[5]?.id ?? '', 'local', 'somebody')).toBeUndefined()
    expect(sessions.find(all[2]?.id ?? '', 'local', 'somebody else')).toBeUndefined()
  })

  test('end after ten idle minutes', () => {
    start()
    const [idle, used, heard] = [open(), open(), open()]
    heard?.listen(() => undefined)
    now = mcpLimits.idle - 1
    used?.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    sessions.sweep()
    expect(sessions.size).toBe(3)
    now = mcpLimits.idle
    sessions.sweep()
    expect([idle?.isClosed, used?.isClosed, heard?.isClosed]).toEqual([true, false, false])
  })
})

describe('a request that waits for its response', () => {
  const head: RequestHead = { kind: 'http', service: 'web', method: 'GET', target: '/', headers: [], user: null }
  const stream = () => new TunnelSession('server', { send: () => true, close: () => undefined }, {}).open(head, false)
  const outcome = (waiting: Promise<unknown>) => waiting.catch((error) => (error as StreamReset).code)

  test('ends at its timeout', async () => {
    const waiting = stream()
    expect(await outcome(awaitResponse(waiting, 1))).toBe(resetCodes.timeout)
    expect(waiting.failure).toBeInstanceOf(StreamReset)
  })

  test('ends when its client has left or leaves', async () => {
    for (const isEarly of [true, false]) {
      const abort = new AbortController()
      const waiting = outcome(awaitResponse(stream(), 3_600_000, new Request('http://x/', { signal: abort.signal })))
      if (!isEarly) await outcome(awaitResponse(stream(), 1))
      abort.abort()
      expect(await waiting).toBe(resetCodes.cancelled)
    }
  })
})

describe('the body of a request', () => {
  const head: RequestHead = { kind: 'http', service: 'web', method: 'POST', target: '/', headers: [], user: null }
  function start() {
    const stream = new TunnelSession('server', { send: () => true, close: () => undefined }, {}).open(head, true)
    const body = new TransformStream<Uint8Array, Uint8Array>()
    const traffic = { requests: 0, bytes: 0 }
    return { stream, traffic, writer: body.writable.getWriter(), upload: new Upload(body.readable, stream, traffic) }
  }

  test('can take hours while bytes arrive, and ends half a minute after the last one', async () => {
    const { stream, traffic, writer, upload } = start()
    for (let sent = 1; sent <= 5; sent++) {
      upload.checkProgress(performance.now() + uploadLimits.idle - 1000)
      await writer.write(new Uint8Array(1))
      await until(() => traffic.bytes === sent && upload.handedOverAt === undefined)
    }
    expect([stream.isClosed, upload.isDone]).toEqual([false, false])
    upload.checkProgress(performance.now() + uploadLimits.idle)
    expect([stream.isClosed, upload.isLate, upload.isDone]).toEqual([true, true, true])
  })

  test('can pause while the service responds, but not after the response has ended', () => {
    const { stream, upload } = start()
    stream.accept({ status: 200, headers: [] })
    upload.checkProgress(performance.now() + 10 * uploadLimits.idle)
    expect(upload.isDone).toBe(false)
    stream.endRemotely()
    upload.checkProgress(performance.now() + uploadLimits.idle)
    expect([stream.isClosed, upload.isLate]).toEqual([true, true])
  })

  test('does not use up the time of the service', async () => {
    const { stream, writer, upload } = start()
    const response = awaitResponse(stream, 1, undefined, upload).catch((error) => (error as StreamReset).code)
    // The timer that ends requests has looked once another request has ended.
    const other = start()
    await other.writer.close()
    await awaitResponse(other.stream, 1, undefined, other.upload).catch(() => undefined)
    expect(stream.isClosed).toBe(false)
    await writer.close()
    expect(await response).toBe(resetCodes.timeout)
  })
})
