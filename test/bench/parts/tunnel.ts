/** Tunnels, against OpenSSH `-R` and localtunnel, all in front of the same local service. */
import { type Bench, compare, median, type Part, type Row, ratioOf } from '../part.ts'
import { cpuSeconds, rate, rssMb } from '../processes.ts'
import { delayingProxy, localTunnel, openSsh, ourTunnel, serveWithTunnels, type TunnelSide } from '../tunnel-sides.ts'
import { twin } from '../world.ts'

const BODY = 100_000_000
const RTT_MS = 50

export const part: Part = async function* (bench) {
  const world = await bench.world('embedded')
  const service = localService()
  const port = service.port as number
  const server = await serveWithTunnels(twin(world))
  const ours = await ourTunnel(world, server, port)
  const ssh = await openSsh(port)
  const lt = await localTunnel(port).catch(
    (error: Error) => void console.log(`LEFT OUT: localtunnel (${error.message})`),
  )
  yield* small(bench, { ours, openssh: ssh.side, ...(lt && { localtunnel: lt }) })
  yield* large(bench, '', { ours, openssh: ssh.side, ...(lt && { localtunnel: lt }) })
  const ends = [
    delayingProxy(Number(new URL(server.process.url).port), RTT_MS / 2),
    delayingProxy(ssh.dial, RTT_MS / 2),
  ]
  const far = {
    ours: await ourTunnel(world, server, port, `http://127.0.0.1:${ends[0]?.port}`),
    openssh: await ssh.to(ends[1]?.port as number),
  }
  yield* large(bench, ` at ${RTT_MS} ms`, far)
  yield* echo(bench, { ours, openssh: ssh.side })
  yield* slowReader(ours)
  for (const end of ends) end.stop()
  await service.stop(true)
}

/** What the machines offer: a small answer, a large body, and an echo. */
function localService() {
  const chunk = new Uint8Array(1 << 20)
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch(request, server) {
      const { pathname } = new URL(request.url)
      if (pathname === '/socket') return server.upgrade(request, { data: undefined }) ? undefined : new Response('no')
      if (pathname !== '/large') return new Response('ok')
      let left = BODY
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (left <= 0) return controller.close()
          controller.enqueue(chunk.subarray(0, Math.min(left, chunk.length)))
          left -= chunk.length
        },
      })
      return new Response(body)
    },
    websocket: { message: (socket, message) => void socket.send(message) },
  })
}

type Sides = Record<string, TunnelSide | undefined>
const bars = { small: { openssh: 0.6, localtunnel: 5 }, large: { openssh: 1, localtunnel: 0.8 } }

/** Runs `work` and returns its figure and the CPU time of the tunnel's processes meanwhile. */
async function withCpu({ pids }: TunnelSide, work: () => Promise<number>): Promise<{ figure: number; cpu: number }> {
  const spent = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const before = spent()
  const figure = await work()
  return { figure, cpu: spent() - before }
}

function keep(figures: Record<string, number[]>, name: string, value: number): void {
  figures[name] = [...(figures[name] ?? []), value]
}

async function* small(bench: Bench, sides: Sides): AsyncIterable<Row> {
  const cpu: Record<string, number[]> = {}
  const measured = await compare(
    bench,
    each(sides, (name, side) => async (seconds) => {
      const { figure, cpu: spent } = await withCpu(side, () => rate(`${side.url}/`, seconds, { headers: side.headers }))
      keep(cpu, name, (spent / (figure * seconds)) * 1e6)
      return figure
    }),
  )
  for (const [name, least] of Object.entries(bars.small)) {
    if (!sides[name]) continue
    yield {
      what: `small requests through a tunnel, 16 at once, against ${name}`,
      ours: `${median(measured.ours ?? []).toFixed(0)}/s (${median(cpu.ours ?? []).toFixed(0)} µs CPU)`,
      against: `${name} ${median(measured[name] ?? []).toFixed(0)}/s (${median(cpu[name] ?? []).toFixed(0)} µs)`,
      ratio: ratioOf(measured.ours ?? [], measured[name] ?? []),
      bar: { least },
    }
  }
}

async function* large({ rounds }: Bench, where: string, sides: Sides): AsyncIterable<Row> {
  const cpu: Record<string, number[]> = {}
  // A body takes as long as it takes: the first of each side is the warm-up.
  const measured = await compare(
    { seconds: 0, rounds },
    each(sides, (name, side) => async () => {
      const { figure, cpu: spent } = await withCpu(side, () => megabytesPerSecond(side))
      keep(cpu, name, spent)
      return figure
    }),
  )
  for (const [name, least] of Object.entries(bars.large)) {
    if (!sides[name]) continue
    yield {
      what: `a body of 100 MB through a tunnel${where}, against ${name}`,
      ours: `${median(measured.ours ?? []).toFixed(0)} MB/s (${median(cpu.ours ?? []).toFixed(2)} s CPU)`,
      against: `${name} ${median(measured[name] ?? []).toFixed(0)} MB/s (${median(cpu[name] ?? []).toFixed(2)} s)`,
      ratio: ratioOf(measured.ours ?? [], measured[name] ?? []),
      bar: { least },
    }
  }
}

async function megabytesPerSecond({ url, headers }: TunnelSide): Promise<number> {
  const started = performance.now()
  const response = await fetch(`${url}/large`, { headers })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += chunk.length
  if (bytes !== BODY) throw new Error(`${url} sent ${bytes} bytes`)
  return bytes / 1000 / (performance.now() - started)
}

async function* echo(bench: Bench, sides: Sides): AsyncIterable<Row> {
  const measured = await compare(
    bench,
    each(sides, (_, side) => (seconds) => echoMs(side, seconds)),
  )
  yield {
    what: 'WebSocket echo through a tunnel, median, against openssh',
    ours: `${median(measured.ours ?? []).toFixed(2)} ms`,
    against: `openssh ${median(measured.openssh ?? []).toFixed(2)} ms`,
    ratio: ratioOf(measured.ours ?? [], measured.openssh ?? []),
    bar: { most: 1.5 },
  }
}

async function echoMs({ url, headers }: TunnelSide, seconds: number): Promise<number> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`, { headers })
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
  const times: number[] = []
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    const started = performance.now()
    await new Promise((resolve) => {
      socket.onmessage = resolve
      socket.send('ping')
    })
    times.push(performance.now() - started)
  }
  socket.close()
  return median(times)
}

/** What a client costs that asks for a large body and does not read it. */
async function* slowReader(side: TunnelSide): AsyncIterable<Row> {
  const [server = 0, agent = 0] = side.pids
  const before = [rssMb(server), rssMb(agent)]
  const { hostname, port, pathname } = new URL(side.url)
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => undefined } })
  socket.pause()
  const headers = Object.entries(side.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${pathname}/large HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${headers.join('')}\r\n`)
  await Bun.sleep(5000)
  for (const [i, name] of (['server', 'agent'] as const).entries()) {
    const value = rssMb([server, agent][i] as number) - (before[i] as number)
    yield {
      what: `a client of a tunnel that does not read 100 MB, memory of the ${name}`,
      ours: `${value.toFixed(1)} MB`,
      value,
      bar: { most: 20, unit: 'MB' },
    }
  }
  socket.terminate()
}

const each = <T>(sides: Sides, make: (name: string, side: TunnelSide) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(sides).flatMap(([name, side]) => (side ? [[name, make(name, side)]] : [])))
