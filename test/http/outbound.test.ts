import { afterAll, describe, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import type { AppError } from '../../src/errors.ts'
import { isPublicAddress } from '../../src/outside/addresses.ts'
import { checkOutboundUrl, createOutbound, type OutboundOptions } from '../../src/outside/outbound.ts'
import { hostEntries } from '../../src/text/setting-values.ts'
import { failure } from '../features/support.ts'
import { allowing } from '../support/timing.ts'
import { asIfPublic, certificateFor, PUBLIC } from '../support/tls.ts'
import { until } from '../support/until.ts'

/** Outbound requests to a real TLS server on loopback, which only the resolver of the test makes reachable. */
const HOST = 'hooks.example.com'
const OTHER = 'other.example.com'
const tls = certificateFor(HOST, OTHER)

interface Heard {
  method: string
  host: string | null
  path: string
  headers: Headers
  body: string
}
const heard: Heard[] = []
let gone = 0

const endless = (chunk: number, wait: number) =>
  new Response(
    new ReadableStream({
      async pull(controller) {
        controller.enqueue(new Uint8Array(chunk))
        await Bun.sleep(wait)
      },
      cancel: () => void gone++,
    }),
  )

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  tls,
  async fetch(request) {
    const url = new URL(request.url)
    const path = url.pathname + url.search
    heard.push({
      method: request.method,
      host: request.headers.get('host'),
      path,
      headers: request.headers,
      body: await request.text(),
    })
    const to = url.searchParams.get('to')
    if (to !== null)
      return new Response('moved', { status: Number(url.searchParams.get('status') ?? 302), headers: { location: to } })
    if (url.pathname === '/sized') return new Response('x'.repeat(Number(url.searchParams.get('bytes'))))
    if (url.pathname === '/endless') return endless(1 << 16, 0)
    if (url.pathname === '/drip') return endless(1, 20)
    if (url.pathname === '/never') return new Promise<Response>(() => undefined)
    return new Response(`hello from ${url.pathname}`, { status: url.pathname === '/broken' ? 500 : 200 })
  },
})
const sockets: Server[] = []
afterAll(async () => {
  await server.stop(true)
  for (const s of sockets) s.close()
})

const at = (path: string, host = HOST) => `https://${host}:${server.port}${path}`
const client = (options: OutboundOptions = {}, OUTBOUND: 'on' | 'off' = 'on') =>
  createOutbound({ OUTBOUND, OUTBOUND_ALLOW: [] }, { ...asIfPublic(tls.cert), timeoutMs: 60_000, ...options })
const refusalOf = async (work: Promise<unknown>) => {
  const { code, message } = (await failure(work)) as AppError
  return { code, message }
}
/** The request that arrived with this in its path. */
const requestsTo = (mark: string): Heard[] => heard.filter(({ path }) => path.includes(mark))

describe('private addresses', () => {
  const closed = [
    '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200', '100.127.255.255', '127.0.0.1', '127.255.255.254',
    '168.63.129.16', '169.254.169.254', '169.254.0.1', '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1',
    '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.7', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255',
    '::', '::1', '0:0:0:0:0:0:0:1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:10.0.0.1', '0:0:0:0:0:ffff:a9fe:a9fe', '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8', '100::1', '2001::1', '2001:0:7f00:1::', '2001:2::1', '2001:10::1', '2001:db8::1',
    '2002:7f00:1::', '2002:808:808::1', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', '2606:4700::1%lo',
    '', 'localhost', 'example.com', '127.1', '0x7f.0.0.1', '2130706433', '017700000001', '1.2.3', '8.8.8.8 ', '08.8.8.8', '[::1]', '1.2.3.4.5', ':::', 'g::1',
  ] // biome-ignore format: a table
  const open = [
    '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0', '168.63.129.15', '169.253.255.255', '169.255.0.0',
    '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255', PUBLIC,
    '2001:200::1', '2001:4860:4860::8888', '2606:4700:4700::1111', '2a00:1450:4001::1', '3ffe:ffff::1', '::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8',
  ] // biome-ignore format: a table

  test('are told from public ones', () => {
    expect(closed.filter(isPublicAddress)).toEqual([])
    expect(open.filter((address) => !isPublicAddress(address))).toEqual([])
  })
})

describe('an outbound request', () => {
  test('uses only https', async () => {
    for (const url of ['http://example.com', 'ftp://example.com', 'file:///etc/passwd', 'data:text/plain,x', 'javascript:1', '//example.com', 'example.com', '', 'https://', 'https:///'])
      expect([url, ((await failure(client().send(url))) as AppError).code]).toEqual([url, 'invalid']) // biome-ignore format: a table
    for (const url of [
      'https://ada:secret@example.com/',
      'https://token@example.com/',
      'https://:secret@example.com/',
    ]) {
      const { code, message } = await refusalOf(client().send(url))
      expect(code).toBe('invalid')
      expect(message).not.toContain('secret')
    }
  })

  test('is refused for every spelling of a private address', async () => {
    const spellings = [
      '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0x7F.1', '017700000001', '0177.0.0.1', '0177.1', '%31%32%37.0.0.1', '127.0.0.1.',
      '0', '0.0.0.0', '１２７.0.0.1', '①②⑦.0.0.1', '127。0。0。1', '169.254.169.254', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '10.0.0.1', '192.168.0.1', '100.64.0.1',
      '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:a9fe:a9fe]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]',
      '[fd00:ec2::254]', '[fe80::1]', '[ff02::1]',
    ] // biome-ignore format: a table
    let asked = 0
    const guarded = client({
      resolve: async () => {
        asked++
        return [PUBLIC]
      },
    })
    for (const host of spellings) {
      const url = `https://${host}:${server.port}/spelling`
      expect([host, ((await failure(guarded.send(url))) as AppError).code]).toEqual([host, 'invalid'])
      expect(() => checkOutboundUrl(url)).toThrow('not on the public Internet')
    }
    expect(asked).toBe(0)
    expect(requestsTo('/spelling')).toEqual([])
  })

  test('is refused for a name with any private address', async () => {
    for (const answers of [['127.0.0.1'], ['10.1.2.3'], ['::1'], ['::ffff:10.0.0.1'], ['fe80::1%2'], [PUBLIC, '192.168.0.1'], ['2606:4700::1', PUBLIC, '::ffff:7f00:1'], ['nonsense']]) {
      const { code, message } = await refusalOf(client({ resolve: async () => answers }).send(at('/inside')))
      expect([answers, code, message]).toEqual([
        answers,
        'invalid',
        `${HOST} is not on the public Internet. Users may give such an address only if OUTBOUND_ALLOW lists it.`,
      ])
    } // biome-ignore format: a table
    expect(requestsTo('/inside')).toEqual([])
  })

  test('resolves localhost as any other name', async () => {
    const { resolve: _, ...real } = asIfPublic(tls.cert)
    for (const host of ['localhost', 'LOCALHOST'])
      expect([
        host,
        (
          await refusalOf(
            createOutbound({ OUTBOUND: 'on', OUTBOUND_ALLOW: [] }, real).send(`https://${host}:${server.port}/local`),
          )
        ).code,
      ]).toEqual([host, 'invalid'])
    expect(requestsTo('/local')).toEqual([])
  })

  test('connects to the checked address, even if the name resolves differently a moment later', async () => {
    const answers = [[PUBLIC], ['127.0.0.1']]
    const asked: string[] = []
    const dialled: string[] = []
    const flipping = client({
      resolve: async (host) => {
        asked.push(host)
        return answers.shift() ?? ['127.0.0.1']
      },
      dial: (address) => {
        dialled.push(address)
        return '127.0.0.1'
      },
    })
    expect((await flipping.send(at('/flip'))).status).toBe(200)
    expect(asked).toEqual([HOST])
    expect(new Set(dialled)).toEqual(new Set([PUBLIC]))
    // The second call resolves the name again.
    expect((await refusalOf(flipping.send(at('/flip')))).code).toBe('invalid')
    expect(requestsTo('/flip')).toHaveLength(1)
  })

  test('is neither resolved nor sent with OUTBOUND=off', async () => {
    let asked = 0
    const { code, message } = await refusalOf(
      client({ resolve: async () => [String(++asked)] }, 'off').send(at('/off')),
    )
    expect({ code, message }).toEqual({
      code: 'forbidden',
      message: 'This server sends no requests to addresses given by users: its operator set OUTBOUND=off.',
    })
    expect(asked).toBe(0)
    expect(requestsTo('/off')).toEqual([])
  })
})

describe('an outbound call', () => {
  test('sends method, headers and body, with the name as host', async () => {
    const answer = await client().send(at('/echo?a=1'), {
      method: 'POST',
      headers: { 'x-mark': '1' },
      body: '{"größe":1}',
    })
    expect([answer.status, answer.body.toString()]).toEqual([200, 'hello from /echo'])
    const [request] = requestsTo('/echo')
    expect(request).toMatchObject({
      method: 'POST',
      host: `${HOST}:${server.port}`,
      path: '/echo?a=1',
      body: '{"größe":1}',
    })
    expect([request?.headers.get('x-mark'), request?.headers.get('user-agent')]).toEqual(['1', 'Tutti'])
  })

  test('returns an error status as a response', async () => {
    expect((await client().send(at('/broken'))).status).toBe(500)
  })

  test('fails for an untrusted certificate, or one of another host', async () => {
    expect(await refusalOf(client({ ca: undefined }).send(at('/tls')))).toMatchObject({ code: 'upstream_failed' })
    expect((await refusalOf(client().send(at('/tls', 'third.example.com')))).message).toContain(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    )
    expect(requestsTo('/tls')).toEqual([])
  })

  test('fails for a name without an address, or one that cannot be resolved', async () => {
    expect(await refusalOf(client({ resolve: async () => [] }).send(at('/')))).toEqual({
      code: 'upstream_failed',
      message: `${HOST} has no address.`,
    })
    const lost = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    expect(await refusalOf(client({ resolve: () => Promise.reject(lost) }).send(at('/')))).toEqual({
      code: 'upstream_failed',
      message: `${HOST} cannot be reached: ENOTFOUND.`,
    })
  })

  test('reads at most 5 MiB, and cuts off an endless response', async () => {
    expect((await client().send(at(`/sized?bytes=${5 << 20}`))).body.length).toBe(5 << 20)
    expect((await refusalOf(client().send(at(`/sized?bytes=${(5 << 20) + 1}`)))).message).toContain(
      'more than 5242880 bytes',
    )
    const before = gone
    expect((await refusalOf(client().send(at('/endless')))).message).toContain('more than 5242880 bytes')
    await until(() => gone === before + 1)
  })
})

describe('the time limit of an outbound call', () => {
  // Long enough for a busy machine to begin the response that then takes too long.
  const timeoutMs = Math.ceil(allowing(100) / 500) * 500
  const quick = () => client({ timeoutMs })
  const late = {
    code: 'upstream_timeout',
    message: `${HOST} did not respond within ${timeoutMs / 1000} seconds.`,
  } as const

  test('ends a call to a server that never responds, or sends a byte at a time', async () => {
    expect(await refusalOf(quick().send(at('/never')))).toEqual(late)
    const before = gone
    expect(await refusalOf(quick().send(at('/drip')))).toEqual(late)
    await until(() => gone === before + 1)
  })

  test('ends a call to a port without TLS, or one that closes at once', async () => {
    const listen = async (talk: (socket: Socket) => void) => {
      const silent = createServer((socket) => {
        socket.on('error', () => undefined)
        talk(socket)
      })
      sockets.push(silent)
      await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
      return (silent.address() as { port: number }).port
    }
    expect(await refusalOf(quick().send(`https://${HOST}:${await listen(() => undefined)}/`))).toEqual(late)
    expect((await refusalOf(client().send(`https://${HOST}:${await listen((s) => s.destroy())}/`))).code).toBe(
      'upstream_failed',
    )
    expect(
      (await refusalOf(client().send(`https://${HOST}:${await listen((s) => s.end('SSH-2.0-x\r\n'))}/`))).code,
    ).toBe('upstream_failed')
  })

  test('ends a call whose name server never responds', async () => {
    expect(
      await refusalOf(client({ timeoutMs: 100, resolve: () => new Promise(() => undefined) }).send(at('/'))),
    ).toMatchObject({
      code: 'upstream_timeout',
    })
  })

  test('covers all redirects of a call', async () => {
    const slow = client({
      timeoutMs: 300,
      resolve: async () => {
        await Bun.sleep(120)
        return [PUBLIC]
      },
    })
    expect(
      (
        await refusalOf(
          slow.send(at(`/share?to=${encodeURIComponent(at(`/share?to=${encodeURIComponent('/share')}`))}`)),
        )
      ).code,
    ).toBe('upstream_timeout')
  })

  test('can be shortened by the caller', async () => {
    const stop = new AbortController()
    const work = failure(client().send(at('/never?giving-up'), { signal: stop.signal }))
    await until(() => requestsTo('giving-up').length === 1)
    stop.abort(new Error('enough'))
    expect(await work).toEqual(new Error('enough'))
  })
})

describe('redirects of an outbound call', () => {
  const hop = (path: string, to: string, status = 302) => at(`${path}?status=${status}&to=${encodeURIComponent(to)}`)

  test('are followed three times', async () => {
    const three = hop('/r1', hop('/r2', hop('/r3', '/end-of-three')))
    expect((await client().send(three)).body.toString()).toBe('hello from /end-of-three')
    expect((await refusalOf(client().send(hop('/r0', three)))).message).toBe(`${HOST} redirects more than 3 times.`)
    const [round] = [at('/round?to=%2Fround%3Fto%3D')]
    expect(
      (await refusalOf(client().send(`${round}${encodeURIComponent(encodeURIComponent(round as string))}`))).code,
    ).toBe('upstream_failed')
  })

  test('are checked like the first address', async () => {
    const inside = [
      `https://127.0.0.1:${server.port}/caught`, `https://2130706433:${server.port}/caught`, `https://[::1]:${server.port}/caught`, 'https://169.254.169.254/latest/meta-data/',
      `http://${HOST}:${server.port}/caught`, 'file:///etc/passwd', 'https://', `https://ada:secret@${HOST}:${server.port}/caught`, 'gopher://x',
    ] // biome-ignore format: a table
    for (const to of inside)
      for (const status of [301, 302, 303, 307, 308])
        expect([
          to,
          status,
          (await refusalOf(client().send(hop('/out', to, status), { method: 'POST', body: 'x' }))).code,
        ]).toEqual([to, status, 'invalid'])
    const byName = client({ resolve: async (host) => (host === OTHER ? ['127.0.0.1'] : [PUBLIC]) })
    expect((await refusalOf(byName.send(hop('/out', at('/caught', OTHER))))).code).toBe('invalid')
    expect(requestsTo('/caught').filter(({ path }) => path.startsWith('/caught'))).toEqual([])
  })

  test('do not pass credentials and bodies to another host', async () => {
    const headers = {
      authorization: 'Bearer hush',
      cookie: 'a=hush',
      'x-tutti-signature': 'hush',
      'content-type': 'application/json',
    }
    const request = { method: 'POST', headers, body: '{}' } as const
    await client().send(hop('/leak', at('/landed-elsewhere', OTHER), 307), request)
    const [other] = requestsTo('/landed-elsewhere').filter(({ path }) => path.startsWith('/landed'))
    expect(other?.host).toBe(`${OTHER}:${server.port}`)
    expect([...(other?.headers.values() ?? [])].join()).not.toContain('hush')
    expect(other?.headers.get('content-type')).toBe('application/json')
    // Nor does it come back to the first one.
    await client().send(hop('/leak', hop('/', at('/landed-back')).replace(HOST, OTHER), 307), request)
    expect([...(requestsTo('/landed-back').at(-1)?.headers.values() ?? [])].join()).not.toContain('hush')
    await client().send(hop('/leak', '/landed-here', 307), request)
    const [same] = requestsTo('/landed-here').filter(({ path }) => path.startsWith('/landed'))
    expect(same?.headers.get('authorization')).toBe('Bearer hush')
  })

  test('repeat a POST only for 307 and 308', async () => {
    for (const [status, method, body] of [
      [301, 'GET', ''],
      [302, 'GET', ''],
      [303, 'GET', ''],
      [307, 'POST', '{}'],
      [308, 'POST', '{}'],
    ] as const) {
      await client().send(hop('/again', `/again-${status}`, status), { method: 'POST', body: '{}' })
      expect(requestsTo(`/again-${status}`).find(({ path }) => path.startsWith('/again-'))).toMatchObject({
        method,
        body,
      })
    }
  })
})

describe('OUTBOUND_ALLOW', () => {
  const plain = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const to = new URL(request.url).searchParams.get('to')
      return to === null ? new Response('hello from inside') : Response.redirect(to, 307)
    },
  })
  afterAll(() => plain.stop(true))
  const { port } = plain
  /** Resolves a name to these addresses, and connects to this machine whatever was allowed. */
  const names = (...addresses: string[]): OutboundOptions => ({
    resolve: async () => addresses,
    dial: () => '127.0.0.1',
  })
  const ask = async (allow: string, url: string, options: OutboundOptions = {}, OUTBOUND: 'on' | 'off' = 'on') => {
    const outbound = createOutbound({ OUTBOUND, OUTBOUND_ALLOW: hostEntries(allow) }, options)
    const sent = outbound.send(url, { mayBePrivate: true })
    return sent.then(
      ({ body }) => body.toString(),
      ({ code }: AppError) => code,
    )
  }
  const inside = `http://127.0.0.1:${port}/`

  test('allows a private host by name, host and port, address or range, with http too', async () => {
    for (const allow of ['127.0.0.1', `127.0.0.1:${port}`, '127.0.0.0/8', '::1, 127.0.0.0/30', '0.0.0.0/0'])
      expect([allow, await ask(allow, inside)]).toEqual([allow, 'hello from inside'])
    for (const allow of ['git.lan', 'GIT.lan.', `git.lan:${port}`])
      expect([allow, await ask(allow, `http://git.lan:${port}/`, names('10.1.2.3'))]).toEqual([
        allow,
        'hello from inside',
      ])
    for (const spelling of ['2130706433', '0x7f.1', '[::ffff:127.0.0.1]'])
      expect([spelling, await ask('127.0.0.1', `http://${spelling}:${port}/`, names())]).toEqual([
        spelling,
        'hello from inside',
      ])
  })

  test('allows no other host', async () => {
    for (const allow of [
      '',
      '127.0.0.2',
      `127.0.0.1:${(port as number) - 1}`,
      '10.0.0.0/8',
      '::1',
      'localhost',
      'example.com',
    ])
      expect([allow, await ask(allow, inside)]).toEqual([allow, 'invalid'])
    // A name that leads into an allowed range needs https; one of its addresses outside the range closes it.
    expect(await ask('10.0.0.0/8', `http://git.lan:${port}/`, names('10.1.2.3'))).toBe('invalid')
    expect(await ask('10.0.0.0/8', `https://git.lan:${port}/`, names('10.1.2.3', '192.168.0.1'))).toBe('invalid')
    expect(await ask('10.0.0.0/8', `https://git.lan:${port}/`, names('10.1.2.3'))).toBe('upstream_failed')
    const stranger = createOutbound({ OUTBOUND: 'on', OUTBOUND_ALLOW: ['127.0.0.1'] })
    expect((await refusalOf(stranger.send(inside))).code).toBe('invalid')
  })

  test('never allows a metadata service', async () => {
    const all = '0.0.0.0/0, ::/0, git.lan, 169.254.169.254, metadata.google.internal'
    for (const address of ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192', '0.0.0.0',
      '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::', 'fd00:ec2::254', 'fd20:ce::254', 'fe80::1', 'fe80::1%eth0', '224.0.0.1']) {
      expect([address, await ask(all, `http://git.lan:${port}/`, names(address))]).toEqual([address, 'invalid'])
      if (!address.includes('%'))
        expect([address, await ask(all, `http://${address.includes(':') ? `[${address}]` : address}:${port}/`, names())]).toEqual([address, 'invalid'])
    } // biome-ignore format: a table
  })

  test('is checked for each redirect and each resolution', async () => {
    const to = (url: string) => `http://git.lan:${port}/?to=${encodeURIComponent(url)}`
    expect(await ask('git.lan', to(`http://git.lan:${port}/`), names('10.1.2.3'))).toBe('hello from inside')
    expect(await ask('git.lan', to(inside), names('10.1.2.3'))).toBe('invalid')
    expect(await ask('git.lan', to('http://169.254.169.254/'), names('10.1.2.3'))).toBe('invalid')
    const answers = [['10.1.2.3'], ['169.254.169.254']]
    const rebinding: OutboundOptions = { ...names(), resolve: async () => answers.shift() ?? [] }
    expect(await ask('git.lan', to(`http://git.lan:${port}/`), rebinding)).toBe('invalid')
  })

  test('still allows its hosts with OUTBOUND=off, and no others', async () => {
    expect(await ask('127.0.0.1', inside, {}, 'off')).toBe('hello from inside')
    expect(await ask('127.0.0.1', 'https://example.com/', names(PUBLIC), 'off')).toBe('forbidden')
    expect(await ask('127.0.0.1', `${inside}?to=https://example.com/`, names(PUBLIC), 'off')).toBe('invalid')
  })

  test('refuses entries that are neither a name nor an address', () => {
    for (const entry of ['http://git.lan', 'git.lan/x', '10.0.0.0/33', '::/129', 'git.lan:0', 'git.lan:99999', 'a b', '10.0.0.1%eth0', 'ada@git.lan', '0x7f.1'])
      expect(() => hostEntries(entry)).toThrow('must list names') // biome-ignore format: a table
  })
})
