import { afterEach, describe, expect, test } from 'bun:test'
import { type RequestHead, resets } from '../../src/tunnel/frames.ts'
import { McpSessions, mcpLimits } from '../../src/tunnel/mcp/sessions.ts'
import { Session } from '../../src/tunnel/session.ts'
import { StreamReset } from '../../src/tunnel/stream.ts'
import { responseOf } from '../../src/tunnel/waiting.ts'

/** Limits that take minutes in life. */
describe('sessions with MCP servers', () => {
  let now = 0
  let sessions: McpSessions
  afterEach(() => sessions.stop())
  const start = () => {
    now = 0
    sessions = new McpSessions({}, () => now)
  }
  const open = () => sessions.open('local', { argv: ['cat'] }, 'somebody')

  test('are eight at most; the one that was idle the longest makes room', () => {
    start()
    const all = Array.from({ length: mcpLimits.sessions }, () => {
      now++
      return open()
    })
    expect(sessions.size).toBe(8)
    // All are in use: somebody listens to each.
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

  test('end after ten minutes that nobody used them', () => {
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
  const stream = () => new Session('server', { send: () => true, close: () => undefined }, {}).open(head, false)
  const outcome = (waiting: Promise<unknown>) => waiting.catch((error) => (error as StreamReset).code)

  test('ends when its time is over', async () => {
    const waiting = stream()
    expect(await outcome(responseOf(waiting, 1))).toBe(resets.timeout)
    expect(waiting.failure).toBeInstanceOf(StreamReset)
  })

  test('ends when its client leaves, before or while that is watched', async () => {
    for (const isEarly of [true, false]) {
      const abort = new AbortController()
      const waiting = outcome(responseOf(stream(), 3_600_000, new Request('http://x/', { signal: abort.signal })))
      if (!isEarly) await outcome(responseOf(stream(), 1))
      abort.abort()
      expect(await waiting).toBe(resets.cancelled)
    }
  })
})
