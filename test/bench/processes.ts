import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

export interface Process {
  url: string
  pid: number
  stop(): Promise<void>
}

const running = new Set<Process>()

/** Ends what `start` has started and nobody has stopped, as after an error. */
export async function stopAll(): Promise<void> {
  for (const server of [...running]) await server.stop()
}

/** A server that says ` is at <url>` when it listens. */
export async function start(command: string[], env: Record<string, string | undefined>): Promise<Process> {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const decoder = new TextDecoder()
  let out = ''
  const listening = Promise.withResolvers<string>()
  // Reads on to the end: some programs end when nobody reads what they print.
  void (async () => {
    for await (const chunk of child.stdout) {
      out += decoder.decode(chunk)
      const found = / at (http:\S+)/.exec(out)?.[1]
      if (found) listening.resolve(found)
    }
    listening.reject(new Error(`${command[0]} ended before it listened:\n${out}`))
  })()
  const url = await listening.promise
  const server: Process = {
    url,
    pid: child.pid,
    stop: async () => {
      running.delete(server)
      child.kill('SIGTERM')
      await child.exited
    },
  }
  running.add(server)
  return server
}

/** CPU seconds of a process with all its threads, from the scheduler's own accounting. */
export function cpuSeconds(pid: number): number {
  let nanoseconds = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
    } catch {}
  }
  return nanoseconds / 1e9
}

/** Microseconds of the server's CPU a call. */
export async function cpuPerCall(
  { pid }: Process,
  load: (until: number) => Promise<number>,
  seconds: number,
): Promise<number> {
  const before = cpuSeconds(pid)
  const calls = await load(performance.now() + seconds * 1000)
  return ((cpuSeconds(pid) - before) / calls) * 1e6
}

/** CPU seconds of its first thread, which runs the event loop of Bun. */
export const loopSeconds = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9

/** Waits until it has had nothing to do for some seconds: on a busy machine, one calm second tells nothing. */
export async function quiet({ pid }: Process): Promise<void> {
  let calm = 0
  for (let seconds = 0; seconds < 300; seconds++) {
    const before = cpuSeconds(pid)
    await Bun.sleep(1000)
    calm = cpuSeconds(pid) - before < 0.05 ? calm + 1 : 0
    if (calm === CALM_SECONDS) return
  }
  throw new Error('the server never came to rest')
}

const CALM_SECONDS = 5

export const rssMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/**
 * Its memory once that has not fallen for half a minute: that long after the last work, Bun collects garbage and its
 * allocator gives memory back. Measured earlier, the same sockets cost up to five times as much.
 */
export async function settledRssMb({ pid }: Process): Promise<number> {
  let least = rssMb(pid)
  for (let calm = 0, seconds = 0; calm < SETTLED_SECONDS && seconds < 180; calm++, seconds++) {
    await Bun.sleep(1000)
    const now = rssMb(pid)
    if (now > least - FALL_MB) continue
    least = now
    calm = 0
  }
  return rssMb(pid)
}

const SETTLED_SECONDS = 30
const FALL_MB = 0.5

/** Lets `peakRssMb` begin anew. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/** The most it has had since its start, or since `forgetPeak`. */
export const peakRssMb = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** Requests a second, by wrk. Default: 16 connections. */
export async function rate(
  url: string,
  seconds: number,
  {
    token,
    body,
    connections = 16,
    headers = {},
  }: { token?: string; body?: string; connections?: number; headers?: Record<string, string> } = {},
): Promise<number> {
  const script = body && `${process.env.TMPDIR ?? '/tmp'}/tutti-wrk-${process.pid}.lua`
  if (script)
    await Bun.write(
      script,
      `wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = ${JSON.stringify(body)}\n`,
    )
  const args = [
    'wrk',
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    ...(script ? ['-s', script] : []),
    ...(token ? ['-H', `Authorization: Bearer ${token}`] : []),
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    url,
  ]
  const child = Bun.spawn(args, { stdout: 'pipe' })
  const out = await new Response(child.stdout).text()
  if (/Non-2xx/.test(out)) throw new Error(`${url} answered with errors:\n${out}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(out)?.[1])
}
