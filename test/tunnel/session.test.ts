import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  decodeFrames,
  encodeFrame,
  encodeJson,
  encodeU32,
  type Frame,
  frameTypes,
  MOST_MESSAGE,
  MOST_PAYLOAD,
  type RequestHead,
  resetCodes,
} from '../../src/tunnel/frames.ts'
import { type SessionEvents, sessionLimits } from '../../src/tunnel/limits.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import { creditCost, type Stream, StreamReset } from '../../src/tunnel/stream.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

const head: RequestHead = { kind: 'http', service: 'web', method: 'GET', target: '/', headers: [], user: null }
const settle = async () => {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate)
}

interface End {
  session: TunnelSession
  closed: string[]
  closes: [number, string][]
  sent: Uint8Array[]
}

/** One peer whose messages are only recorded. */
function alone(side: 'server' | 'agent', events: SessionEvents = {}, clock?: () => number): End {
  const end: End = { closed: [], closes: [], sent: [] } as never
  end.session = new TunnelSession(
    side,
    { send: (m) => end.sent.push(m.slice()) > 0, close: (code, reason) => end.closes.push([code, reason]) },
    { ...events, closed: (reason) => void end.closed.push(reason) },
    clock,
  )
  return end
}

/** Two connected peers; `hold` delays messages of the agent. */
function pair(opened: (stream: Stream) => void) {
  const server = alone('server')
  const agent = alone('agent', { opened })
  const pump = async () => {
    for (let moved = true; moved; ) {
      await settle()
      const [down, up] = [server.sent.splice(0), agent.sent.splice(0)]
      for (const message of down) agent.session.receive(message)
      for (const message of up) server.session.receive(message)
      moved = down.length + up.length > 0
    }
  }
  return { server, agent, pump }
}

const framesIn = (messages: Uint8Array[]): Frame[] => {
  const all: Frame[] = []
  for (const message of messages) decodeFrames(message, (next) => void all.push(next))
  return all
}
const open = (id: number, flags = 0): Frame => ({
  type: frameTypes.headers,
  flags,
  stream: id,
  payload: encodeJson(head),
})
const data = (stream: number, length: number, flags = 0): Frame => ({
  type: frameTypes.data,
  flags,
  stream,
  payload: new Uint8Array(length),
})

describe('frames', () => {
  test('decode to what was encoded, however many a message has', () => {
    const any = fc.record({
      type: fc.nat(255),
      flags: fc.nat(255),
      stream: fc.nat(0xffff_ffff),
      payload: fc.uint8Array({ maxLength: 300 }),
    })
    fc.assert(
      fc.property(fc.array(any, { maxLength: 20 }), (list) => {
        const message = Buffer.concat(list.map(encodeFrame))
        expect(framesIn([message]).map((f) => ({ ...f, payload: [...f.payload] }))).toEqual(
          list.map((f) => ({ ...f, payload: [...f.payload] })),
        )
      }),
      { numRuns: 50 },
    )
  })

  test('of random bytes end the session or are ignored, without an exception', () => {
    fc.assert(
      fc.property(fc.constantFrom('server', 'agent'), fc.array(fc.uint8Array({ maxLength: 200 })), (side, messages) => {
        const end = alone(side as 'server' | 'agent')
        for (const message of messages) end.session.receive(message)
        if (end.session.isClosed) expect(end.closes).toHaveLength(1)
      }),
      { numRuns: 200 },
    )
  })

  test('in any order cause no exception, and open no more streams than allowed', () => {
    const any = fc.record({
      type: fc.constantFrom(0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11),
      flags: fc.nat(15),
      stream: fc.constantFrom(0, 1, 2, 3, 4, 6, 1000),
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 12 }),
        fc.constantFrom(
          encodeJson(head),
          encodeJson({ status: 200, headers: [] }),
          encodeJson({ reason: 'drain' }),
          encodeU32(5),
        ),
      ),
    })
    fc.assert(
      fc.property(fc.constantFrom('server', 'agent'), fc.array(any, { maxLength: 30 }), (side, list) => {
        const end = alone(side as 'server' | 'agent')
        if (side === 'server')
          end.session
            .open(head, true)
            .response()
            .catch(() => undefined)
        for (const next of list) end.session.receive(encodeFrame(next))
        expect(end.session.streams).toBeLessThanOrEqual(sessionLimits.streams)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a hostile peer', () => {
  const ends = (side: 'server' | 'agent', ...messages: Uint8Array[]) => {
    const end = alone(side)
    if (side === 'server')
      end.session
        .open(head, true)
        .response()
        .catch(() => undefined)
    for (const message of messages) end.session.receive(message)
    return end
  }
  const response = encodeFrame({
    type: frameTypes.headers,
    flags: 0,
    stream: 2,
    payload: encodeJson({ status: 200, headers: [] }),
  })
  /** Messages with so many bytes each, of which the last is beyond what a new stream may get. */
  const beyond = (size: number) =>
    Array<Uint8Array>(Math.floor(sessionLimits.credit / creditCost(size)) + 1).fill(encodeFrame(data(2, size)))
  const cases: [string, 'server' | 'agent', ...Uint8Array[]][] = [
    ['a cut-off header', 'agent', new Uint8Array(5)],
    ['a cut-off frame', 'agent', encodeFrame(data(2, 50)).subarray(0, 40)],
    ['a message that is too large', 'agent', new Uint8Array(MOST_MESSAGE + 1)],
    ['a frame that is too large', 'agent', encodeFrame(data(2, MOST_PAYLOAD + 1))],
    ['stream 0', 'agent', encodeFrame(open(0))],
    ['an odd stream', 'agent', encodeFrame(open(3))],
    ['a stream id used again', 'agent', encodeFrame(open(2)), encodeFrame(open(2))],
    ['a lower stream id', 'agent', encodeFrame(open(4)), encodeFrame(open(2))],
    ['data of a stream that was never opened', 'agent', encodeFrame(data(2, 5))],
    ['a head of another shape', 'agent', encodeFrame({ ...open(2), payload: encodeJson({ ...head, target: 'x' }) })],
    ['data beyond the credit', 'agent', encodeFrame(open(2)), ...beyond(60_000)],
    ['a flood of empty data', 'agent', encodeFrame(open(2)), Buffer.concat(beyond(0))],
    ['data after the end', 'agent', encodeFrame(open(2, 1)), encodeFrame(data(2, 1))],
    ['a window of zero', 'agent', encodeFrame(open(2)), encodeFrame({ ...data(2, 4), type: frameTypes.window })],
    [
      'a window that overflows',
      'agent',
      encodeFrame(open(2)),
      encodeFrame({ type: frameTypes.window, flags: 0, stream: 2, payload: encodeU32(0x7fff_ffff) }),
    ],
    ['a ping of one byte', 'agent', encodeFrame({ ...data(0, 1), type: frameTypes.ping })],
    ['settings on a stream', 'agent', encodeFrame({ ...data(2, 1), type: frameTypes.settings })],
    ['two heads', 'server', response, response],
    ['data before the head', 'server', encodeFrame(data(2, 1))],
    ['a head of a stream that the server did not open', 'server', encodeFrame({ ...open(4), payload: encodeJson({}) })],
    ['an invalid status', 'server', encodeFrame({ ...open(2), payload: encodeJson({ status: 9, headers: [] }) })],
  ]
  test.each(cases)('that sends %s gets GOAWAY', (_, side, ...messages) => {
    const end = ends(side, ...messages)
    expect(end.closes.map(([code]) => code)).toEqual([1002])
    expect(end.session.streams).toBe(0)
    expect(framesIn(end.sent).at(-1)?.type).toBe(frameTypes.goaway)
  })

  test('that does not read gets no endless queue of replies', () => {
    const closes: string[] = []
    const blocked = new TunnelSession(
      'agent',
      { send: () => false, close: (_, reason) => void closes.push(reason) },
      { opened: (stream) => stream.reset(resetCodes.refused) },
    )
    for (let i = 1; i < 200_000 && !blocked.isClosed; i++)
      blocked.receive(encodeFrame({ ...open(i * 2), payload: encodeJson(head) }))
    expect(closes).toEqual(['too many replies wait'])
    for (let i = 0; i < 1000; i++) blocked.receive(encodeFrame({ ...data(0, 8), type: frameTypes.ping }))
  })

  test('cannot open streams beyond the limit, and the others continue', () => {
    const opened: number[] = []
    const end = alone('agent', { opened: ({ id }) => void opened.push(id) })
    for (let i = 1; i <= sessionLimits.streams + 5; i++) end.session.receive(encodeFrame(open(i * 2)))
    expect(opened).toHaveLength(sessionLimits.streams)
    expect(end.session.isClosed).toBe(false)
  })
})

describe('streams', () => {
  test('carry bodies of any size completely and in order, both ways, and return credit', async () => {
    const echo = async (stream: Stream) => {
      stream.respond({ status: 200, headers: [] })
      for (let next = await stream.read(); next; next = await stream.read()) await stream.write(next.bytes)
      stream.end()
    }
    const { server, pump } = pair((stream) => void echo(stream))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 1, max: 200_000 }), { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        async (bodies) => {
          const streams = bodies.map((sizes) => ({ stream: server.session.open(head, true), sizes }))
          const results = streams.map(async ({ stream, sizes }, n) => {
            const wanted = Buffer.concat(sizes.map((size, i) => new Uint8Array(size).fill(n * 16 + i)))
            const sending = (async () => {
              for (let at = 0; at < wanted.length; at += 50_000) await stream.write(wanted.subarray(at, at + 50_000))
              stream.end()
            })()
            await stream.response()
            const parts: Uint8Array[] = []
            for (let next = await stream.read(); next; next = await stream.read()) parts.push(next.bytes)
            await sending
            expect(Buffer.concat(parts).equals(wanted)).toBe(true)
          })
          let left = true
          const all = Promise.all(results).finally(() => {
            left = false
          })
          while (left) await pump()
          await all
          expect(server.session.streams).toBe(0)
        },
      ),
      { numRuns: 10 },
    )
  })

  test('of other readers continue when one reader stalls', async () => {
    const streams: Stream[] = []
    const { server, pump } = pair((stream) => void streams.push(stream))
    const stalled = server.session.open(head, true)
    let isDone = false
    const writing = (stalled.write(new Uint8Array(1 << 20)) as Promise<void>).then(() => {
      isDone = true
    })
    await pump()
    expect(isDone).toBe(false)
    const other = server.session.open(head, true)
    const sent = other.write(new Uint8Array(1000))
    await pump()
    await sent
    expect((await streams[1]?.read())?.bytes.length).toBe(1000)
    const reading = (async () => {
      for (let got = 0; got < 1 << 20; ) got += (await streams[0]?.read())?.bytes.length ?? 0
    })()
    for (let i = 0; i < 40 && !isDone; i++) await pump()
    await Promise.all([writing, reading])
  })

  test('take turns: small ones do not wait for a large one', async () => {
    const server = alone('server')
    const large = server.session.open(head, true)
    const small = server.session.open(head, true)
    server.session.receive(encodeFrame({ type: frameTypes.window, flags: 0, stream: 2, payload: encodeU32(1 << 20) }))
    void large.write(new Uint8Array(1 << 20))
    void small.write(new Uint8Array(10))
    await settle()
    const order = framesIn(server.sent)
      .filter((f) => f.type === frameTypes.data)
      .map((f) => f.stream)
    expect(order.indexOf(small.id)).toBe(1)
  })

  test('that are reset fail for whoever reads, writes or waits for the head', async () => {
    const { server, pump } = pair((stream) => stream.reset(resetCodes.refused))
    const stream = server.session.open(head, true)
    const failures = Promise.allSettled([stream.response(), stream.read()])
    await pump()
    for (const failure of await failures)
      expect(((failure as PromiseRejectedResult).reason as StreamReset).code).toBe(resetCodes.refused)
    expect(() => stream.write(new Uint8Array(1))).toThrow(StreamReset)
    expect(server.session.streams).toBe(0)
  })

  test('end with the connection', async () => {
    const server = alone('server')
    const waiting = server.session.open(head, false).response()
    server.session.onConnectionLost()
    expect(await waiting.catch((error) => error)).toBeInstanceOf(StreamReset)
    expect(server.closed).toEqual(['lost'])
  })

  test('stay open while only a slow upload is sent', () => {
    let time = 0
    const { session } = alone('server', {}, () => time)
    const stream = session.open(head, true)
    stream.response().catch(() => undefined)
    for (time = 0; time < 3 * sessionLimits.idle; time += sessionLimits.quiet / 2) {
      void stream.write(new Uint8Array(1))
      session.receive(encodeFrame({ ...data(0, 8), type: frameTypes.ping, flags: 1 }))
      session.tick()
    }
    expect(stream.isClosed).toBe(false)
  })

  test('are closed when idle; a silent connection is pinged, then closed', async () => {
    let time = 0
    const end = alone('server', {}, () => time)
    const idle = end.session.open(head, false)
    idle.response().catch(() => undefined)
    const socket = end.session.open({ ...head, kind: 'ws' }, true)
    socket.isIdleLimited = false
    const pong = () => end.session.receive(encodeFrame({ ...data(0, 8), type: frameTypes.ping, flags: 1 }))
    time = sessionLimits.quiet
    end.session.tick()
    await settle()
    expect(framesIn(end.sent).at(-1)?.type).toBe(frameTypes.ping)
    time += 7
    pong()
    expect(end.session.rttMs).toBe(7)
    time = sessionLimits.idle
    pong()
    end.session.tick()
    expect([idle.isClosed, socket.isClosed]).toEqual([true, false])
    time += sessionLimits.gone
    end.session.tick()
    expect(end.closes.map(([code]) => code)).toEqual([1001])
  })
})
