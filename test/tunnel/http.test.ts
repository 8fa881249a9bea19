import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import fc from 'fast-check'
import { type RequestHead, type ResponseHead, resetCodes } from '../../src/tunnel/frames.ts'
import { callHttp } from '../../src/tunnel/http/call.ts'
import { BadResponse, ResponseReader } from '../../src/tunnel/http/response.ts'
import { type ServiceConnection, ServiceConnectionPool } from '../../src/tunnel/http/service-connections.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import { type Stream, StreamReset } from '../../src/tunnel/stream.ts'
import { until } from '../support/until.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

/** HTTP between the agent and a local service. */
interface Read {
  head: ResponseHead | undefined
  body: string
  isDone: boolean
  isReusable: boolean
}

function read(parts: (string | Uint8Array)[], { isHead = false, closes = false } = {}): Read {
  const found: Read = { head: undefined, body: '', isDone: false, isReusable: false }
  const reader = new ResponseReader(isHead, {
    head: (head, isEnd) => {
      expect(found.head).toBeUndefined()
      Object.assign(found, { head, isDone: isEnd })
    },
    body: (bytes, isEnd) => {
      expect(found.isDone).toBe(false)
      found.body += Buffer.from(bytes).toString('latin1')
      found.isDone = isEnd
    },
  })
  for (const part of parts) reader.feed(Buffer.from(part as string, 'latin1'))
  if (closes) reader.close()
  expect(reader.isDone).toBe(found.isDone)
  return { ...found, isReusable: reader.isReusable }
}

const failure = (text: string, closes = false): unknown => {
  try {
    read([text], { closes })
  } catch (error) {
    return error instanceof BadResponse ? error.code : error
  }
  return 'read'
}

describe('a response of a service', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  test.each([
    ['with a length', `${ok}Content-Length: 5\r\n\r\nhello`, 'hello', true],
    [
      'in chunks',
      `${ok}transfer-encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2 \r\nlo\r\n0\r\nx: y\r\n\r\n`,
      'hello',
      true,
    ],
    ['without a body', `${ok}Content-Length: 0\r\n\r\n`, '', true],
    ['with status 204', 'HTTP/1.1 204\r\nContent-Length: 5\r\n\r\n', '', true],
    ['with status 304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', '', true],
    ['after interim responses', `HTTP/1.1 103 Early\r\nlink: x\r\n\r\n${ok}content-length: 2\r\n\r\nok`, 'ok', true],
    ['whose lines end without CR', 'HTTP/1.0 200 OK\ncontent-length: 2\n\nok', 'ok', false],
    ['with Connection: close', `${ok}content-length: 2\r\nConnection: Close\r\n\r\nok`, 'ok', false],
    ['with two kinds of length', `${ok}content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, '', false],
    ['followed by unrequested bytes', `${ok}content-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n`, 'ok', false],
  ])('%s is parsed, however its bytes are split', (_, text, body, isReusable) => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        const parts = places.slice(1).map((end, i) => text.slice(places[i], end))
        expect(read(parts.filter(Boolean))).toMatchObject({ body, isDone: true, isReusable })
      }),
      { numRuns: 30 },
    )
  })

  test('keeps its headers in order, and ends with the connection if it has no length', () => {
    const text = `${ok}X-B: 1\r\nx-a:  two words \r\nX-B: 3\r\nx-c: \xe9\r\n\r\n`
    const headers = [
      ['X-B', '1'],
      ['x-a', 'two words'],
      ['X-B', '3'],
      ['x-c', '\xe9'],
    ]
    expect(read([text, 'a', 'b'], { closes: true })).toEqual({
      head: { status: 200, headers } as ResponseHead,
      body: 'ab',
      isDone: true,
      isReusable: false,
    })
    expect(read([`${ok}content-length: 10\r\n\r\n`], { isHead: true })).toMatchObject({
      isDone: true,
      isReusable: true,
    })
  })

  test('that is invalid or ambiguous is refused', () => {
    const many = 'x: y\r\n'.repeat(201)
    expect(failure('SSH-2.0-OpenSSH\r\n\r\n')).toBe(resetCodes.local)
    for (const first of ['HTTP/2 200', 'HTTP/1.1 999', 'HTTP/1.1 20', 'HTTP/1.1 101 Switching'])
      expect(failure(`${first}\r\n\r\n`)).toBe(resetCodes.local)
    for (const line of ['content-length: 1\r\ncontent-length: 2', 'content-length: -1', 'content-length: 1, 1'])
      expect(failure(`${ok}${line}\r\n\r\n`)).toBe(resetCodes.local)
    for (const line of [' folded: x', 'a b: x', 'x: a\0b', 'nothing', 'x: a\rb'])
      expect(failure(`${ok}${line}\r\n\r\n`)).toBe(resetCodes.local)
    for (const chunk of ['x\r\n', '-1\r\n', '2\r\nabc\r\n', `${'1'.repeat(9)}\r\n`, ';'.repeat(5000)])
      expect(failure(`${ok}transfer-encoding: chunked\r\n\r\n${chunk}`)).toBe(resetCodes.local)
    expect(failure(`${ok}content-length: 2\r\n\r\no`, true)).toBe(resetCodes.local)
    expect(failure(`${ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n`, true)).toBe(resetCodes.local)
    // More than a frame carries would end the whole connection of the machine.
    for (const head of [many, `x: ${'y'.repeat(20_000)}\r\n`, `${'n'.repeat(300)}: y\r\n`, 'x'.repeat(40_000)])
      expect(failure(`${ok}${head}\r\n\r\n`)).toBe(resetCodes.tooLarge)
  })

  test('of random bytes causes only the expected error', () => {
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(ok, '\r\n', 'content-length: 3\r\n', '0\r\n'),
    )
    fc.assert(
      fc.property(fc.array(any, { maxLength: 8 }), (parts) => {
        const reader = new ResponseReader(false, { head: () => undefined, body: () => undefined })
        try {
          for (const part of parts) reader.feed(Buffer.from(part as string))
          reader.close()
        } catch (error) {
          expect(error).toBeInstanceOf(BadResponse)
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('a request to a service', () => {
  /** A connection and what it received. */
  interface Got {
    socket: Socket<Got>
    text: string
  }
  let service: Bun.TCPSocketListener<Got>
  const connections: Got[] = []
  /** How the service handles the bytes so far. */
  let behave: (got: Got) => void
  let lines: ServiceConnectionPool
  let now = 0
  let url: string
  let server: TunnelSession

  const passed = (to: TunnelSession, bytes: Uint8Array): boolean => {
    to.receive(bytes.slice())
    return true
  }
  beforeAll(() => {
    service = Bun.listen<Got>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: (socket) => {
          socket.data = { socket, text: '' }
          connections.push(socket.data)
        },
        data: ({ data }, bytes) => {
          data.text += bytes.toString('latin1')
          behave(data)
        },
      },
    })
    url = `http://127.0.0.1:${service.port}`
    const agent = new TunnelSession(
      'agent',
      { send: (bytes) => passed(server, bytes), close: () => undefined },
      { opened: (stream) => callHttp(lines, stream, url, () => undefined) },
    )
    server = new TunnelSession('server', { send: (bytes) => passed(agent, bytes), close: () => undefined }, {})
  })
  afterAll(() => service.stop(true))
  beforeEach(() => {
    now = 0
    lines = new ServiceConnectionPool(() => now)
    connections.length = 0
  })
  afterEach(() => lines.stop())

  const open = (more: Partial<RequestHead> = {}, body?: string): Stream => {
    const base: RequestHead = { kind: 'http', service: 'web', method: 'GET', target: '/', headers: [], user: null }
    const stream = server.open({ ...base, ...more }, body !== undefined)
    if (body !== undefined) stream.end(Buffer.from(body))
    return stream
  }
  const outcome = async (stream: Stream): Promise<string> => {
    try {
      const { status } = await stream.response()
      let text = ''
      for (let chunk = await stream.read(); chunk; chunk = await stream.read()) text += Buffer.from(chunk.bytes)
      return `${status} ${text}`
    } catch (error) {
      return error instanceof StreamReset ? `reset ${error.code}` : String(error)
    }
  }
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const reply = (text: string) => (got: Got) => {
    if (got.text.includes('\r\n\r\n')) got.socket.write(text)
  }

  test('is forwarded unchanged, and connections are reused', async () => {
    behave = reply(ok)
    const headers: [string, string][] = [
      ['Host', 'web--box'],
      ['X-B', 'b'],
      ['connection', 'x'],
      ['x-a', '\xe9'],
      ['X-B', 'c'],
    ]
    expect(await outcome(open({ target: '/a/../b?x=%2e', headers }))).toBe('200 ok')
    expect(connections[0]?.text).toBe(
      'GET /a/../b?x=%2e HTTP/1.1\r\nHost: web--box\r\nX-B: b\r\nx-a: \xe9\r\nX-B: c\r\n\r\n',
    )
    for (const method of ['GET', 'DELETE']) expect(await outcome(open({ method }))).toBe('200 ok')
    expect(connections).toHaveLength(1)
  })

  test('with a body has a length or chunks', async () => {
    behave = ({ socket, text }) => {
      if (/hello$|\r\n0\r\n\r\n$/.test(text)) socket.write(ok)
    }
    expect(await outcome(open({ method: 'POST', headers: [['content-length', '5']] }, 'hello'))).toBe('200 ok')
    expect(connections[0]?.text).toBe('POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello')
    expect(await outcome(open({ method: 'PUT' }, 'hello'))).toBe('200 ok')
    expect(connections[0]?.text).toEndWith(
      'PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    )
    expect(connections).toHaveLength(1)
  })

  test('cannot leak a part into the next request', async () => {
    behave = reply(ok)
    const lengthOf = (length: string): Partial<RequestHead> => ({
      method: 'POST',
      headers: [['Content-Length', length]],
    })
    for (const length of ['4', '6', '5, 5', 'x', '-1'])
      expect(await outcome(open(lengthOf(length), 'hello'))).toBe(`reset ${resetCodes.protocol}`)
    const twice = open(
      { method: 'POST', headers: [...Array(2)].map(() => ['content-length', '5'] as const) as never },
      'hello',
    )
    expect(await outcome(twice)).toBe(`reset ${resetCodes.protocol}`)
    for (const bad of ['a\r\nb: c', 'a\0', '\u0100'])
      expect(await outcome(open({ headers: [['x', bad]] }))).toBe(`reset ${resetCodes.protocol}`)
    expect(await outcome(open({ headers: [['a b', 'x']] }))).toBe(`reset ${resetCodes.protocol}`)
    // Without a body it sends no length.
    connections.length = 0
    expect(await outcome(open({ headers: [['content-length', '5']] }))).toBe('200 ok')
    expect(connections[0]?.text).toBe('GET / HTTP/1.1\r\n\r\n')
  })

  test('is retried only if an idle connection had closed and the method is safe', async () => {
    behave = reply(ok)
    expect(await outcome(open())).toBe('200 ok')
    const [first] = connections
    behave = (got) => {
      if (got === first) got.socket.end()
      else reply(ok)(got)
    }
    expect(await outcome(open({ target: '/again' }))).toBe('200 ok')
    expect(connections.map(({ text }) => text.includes('/again'))).toEqual([true, true])
    const [, second] = connections
    behave = (got) => {
      if (got === second) got.socket.end()
      else reply(ok)(got)
    }
    expect(await outcome(open({ method: 'POST', target: '/once' }, 'hello'))).toBe(`reset ${resetCodes.local}`)
    expect(connections.filter(({ text }) => text.includes('/once'))).toHaveLength(1)
    // After an idle second, a request that changes something gets a new connection.
    behave = reply(ok)
    connections.length = 0
    expect(await outcome(open())).toBe('200 ok')
    now += 1001
    expect(await outcome(open({ method: 'POST' }, 'hello'))).toBe('200 ok')
    expect(connections).toHaveLength(2)
    // It is retried at most once.
    behave = ({ socket }) => void socket.end()
    expect(await outcome(open())).toBe(`reset ${resetCodes.local}`)
  })

  test('does not get bytes that arrived before it', async () => {
    behave = reply(`${ok}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`)
    expect(await outcome(open())).toBe('200 ok')
    behave = reply(ok)
    expect(await outcome(open())).toBe('200 ok')
    expect(connections).toHaveLength(2)
    const idle = lines.takeIdle(url) as ServiceConnection
    lines.keepIdle(idle)
    connections[1]?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')
    await until(() => idle.isClosed)
    expect(await outcome(open())).toBe('200 ok')
    expect(connections).toHaveLength(3)
  })

  test('ends at the service when its client leaves, and fails if no service listens', async () => {
    behave = () => undefined
    const stream = open()
    const left = outcome(stream)
    await until(() => connections[0]?.text.includes('GET'))
    stream.reset(resetCodes.cancelled)
    expect(await left).toBe(`reset ${resetCodes.cancelled}`)
    await until(() => connections[0]?.socket.readyState !== 1)
    const there = url
    url = 'http://127.0.0.1:1'
    expect(await outcome(open())).toBe(`reset ${resetCodes.local}`)
    url = there
  })
})
