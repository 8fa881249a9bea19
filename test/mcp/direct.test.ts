import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { isDirectCall, sendWhenDone } from '../../src/mcp/direct-calls.ts'
import { mcpToken, person, sharedApp } from '../support/app.ts'
import { big, serveTools } from './support.ts'

let url: string
let token: string
let stop: () => Promise<void>

beforeAll(async () => {
  const t = await sharedApp()
  token = await mcpToken(t, await person(t))
  ;({ url, stop } = serveTools(t, [big]))
})
afterAll(() => stop())

const accept = 'application/json, text/event-stream'
const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'big', arguments: {} } }
const request = (headers: Record<string, string> = {}) =>
  new Request('http://x/mcp', { headers: { accept, ...headers } })
const meta = (_meta: unknown) => ({ ...message, params: { ...message.params, _meta } })

describe('a call by Streamable HTTP', () => {
  test('runs without the SDK if it is well-formed and of 2025', () => {
    expect(isDirectCall(request(), message)).toBe(true)
    expect(isDirectCall(request({ 'mcp-protocol-version': '2025-06-18' }), message)).toBe(true)
    expect(isDirectCall(request(), meta({ progressToken: 7, 'somebody/else': true }))).toBe(true)
    for (const version of ['2026-07-28', '1999-01-01', 'x'])
      expect(isDirectCall(request({ 'mcp-protocol-version': version }), message)).toBe(false)
    expect(isDirectCall(request({ accept: 'application/json' }), message)).toBe(false)
    for (const other of [
      { ...message, id: null },
      { ...message, more: 1 },
      { ...message, method: 'ping' },
      meta([]),
      meta('x'),
      meta({ progressToken: {} }),
      meta({ 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }),
      meta({ 'io.modelcontextprotocol/related-task': { taskId: 'x' } }),
    ])
      expect([other, isDirectCall(request(), other)]).toEqual([other, false])
  })

  test('is answered by one event, and refused as the SDK refuses', async () => {
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept, ...headers },
        body: JSON.stringify(body),
      })
    const ok = await post(message)
    expect(ok.headers.get('content-type')).toBe('text/event-stream')
    const text = await ok.text()
    expect(text).toMatch(/^event: message\ndata: \{"jsonrpc":"2\.0","id":1,"result":\{.*\}\n\n$/)
    expect((await post(message, { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400)
    expect((await post(message, { accept: 'application/json' })).status).toBe(406)
    expect((await post({ ...message, more: 1 })).status).toBe(400)
    const unknown = await (await post({ ...message, params: { name: 'nothing' } })).text()
    expect(JSON.parse(unknown.slice(unknown.indexOf('{'))).error.code).toBe(-32602)
  })

  test('that takes long is a stream that is kept alive', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const response = await sendWhenDone(promise, 1)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const next = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await next()).toContain(': keep-alive\n\n')
    expect(await next()).toContain(': keep-alive\n\n')
    resolve('{}')
    let last = ''
    while (!last.endsWith('event: message\ndata: {}\n\n')) last += await next()
    expect((await reader.read()).done).toBe(true)
  })

  test('whose client disconnected writes nothing more', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const response = await sendWhenDone(promise, 1)
    await response.body?.cancel()
    resolve('{}')
    await promise
  })
})
