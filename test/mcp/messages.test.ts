import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { call, mcpToken, person, sharedApp, type TestApp } from '../support/app.ts'
import { big, openRaw, serveTools } from './support.ts'

let t: TestApp
let token: string
let url: string
let stop: () => Promise<void>

beforeAll(async () => {
  t = await sharedApp()
  token = await mcpToken(t, await person(t))
  ;({ url, stop } = serveTools(t, [big]))
})
afterAll(() => stop())

describe('invalid messages', () => {
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    })

  test('are refused with a problem body, on both transports', async () => {
    const stream = await openRaw(url, token)
    const request = { jsonrpc: '2.0', id: 1, method: 'ping' }
    for (const path of [stream.endpoint, '/mcp', '/mcp/sse']) {
      const table: [string, number, Record<string, string>?][] = [
        ['', 400],
        ['{', 400],
        ['null', 400],
        ['"ping"', 400],
        ['{}', 400],
        ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400],
        [JSON.stringify([request]), 400],
        [JSON.stringify([request, { ...request, id: 2 }]), 400],
        ['[]', 400],
        [`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(40)}${']'.repeat(40)}}`, 422],
        ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', 422],
        [JSON.stringify(request), 415, { 'content-type': 'text/plain' }],
        [JSON.stringify(request), 415, { 'content-encoding': 'gzip' }],
        [JSON.stringify({ ...request, params: { x: 'x'.repeat(1 << 20) } }), 413],
      ]
      for (const [body, status, headers] of table) {
        const answer = await post(path, body, headers)
        const text = await answer.text()
        expect([path.slice(0, 9), body.slice(0, 60), answer.status]).toEqual([
          path.slice(0, 9),
          body.slice(0, 60),
          status,
        ])
        expect(text).not.toContain('    at ')
      }
    }
    // None of it broke the stream.
    expect((await stream.call('after', 'big')).result?.isError).toBeUndefined()
    stream.abort()
  })

  test('that are chunked and too long are cut off', async () => {
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 64 << 10
        if (sent > 64 << 20) controller.close()
        else controller.enqueue(new Uint8Array(64 << 10).fill(32))
      },
    })
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    })
    expect(answer.status).toBe(413)
    expect(await answer.json()).toMatchObject({ code: 'too_large' })
  })

  test('with an unknown method or wrong parameters get a JSON-RPC error', async () => {
    const stream = await openRaw(url, token)
    const ask = async (message: object) => {
      await stream.post({ jsonrpc: '2.0', id: 7, ...message })
      return (await stream.wait(7)).error?.code
    }
    expect(await ask({ method: 'no/such' })).toBe(-32601)
    expect(await ask({ method: 'tools/call' })).toBe(-32602)
    expect(await ask({ method: 'tools/call', params: { name: 'big', arguments: 'x' } })).toBe(-32602)
    expect(await ask({ method: 'tools/call', params: { name: 'big', arguments: [] } })).toBe(-32602)
    expect(await ask({ method: 'tools/call', params: { name: 5 } })).toBe(-32602)
    expect(await ask({ method: 'tools/call', params: { name: 'nothing' } })).toBe(-32602)
    stream.abort()
  })

  test('are all requests but POST', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await call(t, method, '/mcp', undefined, { authorization: `Bearer ${token}` })
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST'])
    }
  })

  test('with an unknown toolset get an error that names it', async () => {
    const answer = await fetch(`${url}/mcp/sse?toolsets=tset`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).toBe(422)
    expect(await answer.json()).toMatchObject({ detail: 'Unknown toolset: "tset". Toolsets: test.' })
  })
})
