import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { optimisedLater } from './jit.ts'

/** TUTTI_BINARY names another one, so that several can be tried at once. */
export const BINARY = process.env.TUTTI_BINARY || resolve(import.meta.dir, '../../dist/tutti')
if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing. Run: bun run build`)

export const EMAIL = 'ada@example.com'
export const PASSWORD = 'violet anchor prefers rain'

/**
 * For programs that run for a second or two, in which optimised code does not pay: the last compiler stage for
 * WebAssembly, which would take a third of their time, is off, the one before and the optimisation of JavaScript come
 * later. The tests of the embedded database run with all stages.
 */
export const shortLived = {
  BUN_JSC_useOMGJIT: '0',
  BUN_JSC_thresholdForBBQOptimizeAfterWarmUp: '2000',
  BUN_JSC_thresholdForBBQOptimizeSoon: '800',
  ...optimisedLater,
}

/** Nothing of the caller's environment but what a program needs to run. */
export const bareEnv = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '/',
  TZ: 'UTC',
  ...shortLived,
}

/** A folder that is gone when the test process ends. */
export function folder(name = 'tutti-bin-'): string {
  const path = mkdtempSync(join(tmpdir(), name))
  process.on('exit', () => rmSync(path, { recursive: true, force: true }))
  return path
}

export { freePort } from './port.ts'

export interface Run {
  code: number
  out: string
  err: string
}

export async function tutti(
  args: string[],
  { env = {}, stdin = '', cwd = tmpdir() }: { env?: Record<string, string>; stdin?: string; cwd?: string } = {},
): Promise<Run> {
  const child = Bun.spawn([BINARY, ...args], {
    cwd,
    env: { ...bareEnv, ...env },
    stdin: new Blob([stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}

interface Terminal {
  env?: Record<string, string>
  cwd?: string
  columns?: number
  /** Typed on the keyboard; the terminal shows it too. */
  typed?: string
  /** From a file, with only the output on the terminal. */
  stdin?: string
}

/** Runs the program on a terminal of this width; returns what the terminal shows, of both output streams. */
export async function onTerminal(
  args: string[],
  { env = {}, cwd = tmpdir(), columns = 80, typed, stdin }: Terminal = {},
): Promise<{ code: number; shown: string }> {
  const quoted = [BINARY, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const file = stdin === undefined ? undefined : join(folder(), 'stdin')
  if (file) writeFileSync(file, stdin as string)
  const child = Bun.spawn(
    ['script', '-qec', `stty cols ${columns} rows 24; ${quoted}${file ? ` < ${file}` : ''}`, '/dev/null'],
    {
      cwd,
      env: { ...bareEnv, TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
      // An end of input would be shown as the ^D that a terminal makes of it.
      stdin: typed === undefined ? 'pipe' : new Blob([typed]),
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const [shown, code] = await Promise.all([new Response(child.stdout).text(), child.exited])
  return { code, shown: shown.replaceAll('\r\n', '\n') }
}

export interface Served {
  url: string
  pid: number
  dir: string
  /** Milliseconds from start to the line that names the address. */
  readyAfter: number
  output(): string
  exited: Promise<number>
  signal(name: NodeJS.Signals): void
  /** kill -9, and wait until it is gone. */
  kill(): Promise<void>
  stop(): Promise<number>
}

interface ServeOptions {
  dir?: string
  env?: Record<string, string>
  /** A command that runs the binary, such as strace. */
  wrap?: string[]
  /** Default: any free port. */
  port?: string
  timeoutMs?: number
}

/** Starts the server and resolves when it listens; rejects with its output when it ends before. */
export async function serve({
  dir = folder(),
  env = {},
  wrap = [],
  port = '0',
  timeoutMs = 250_000,
}: ServeOptions = {}): Promise<Served> {
  const started = performance.now()
  const logFile = join(folder('tutti-log-'), 'stderr')
  const child = Bun.spawn([...wrap, BINARY, 'serve', '--port', port, '--data-dir', dir], {
    cwd: tmpdir(),
    env: {
      ...bareEnv,
      RATE_LIMIT_PER_MINUTE: '1000000',
      RATE_LIMIT_BURST: '1000000',
      RATE_LIMIT_LOGIN: '1000',
      DB_MIN_FREE_MB: '0',
      // A busy machine may take longer than the default for a statement.
      DB_STATEMENT_TIMEOUT_MS: '60000',
      // It would embed whatever a test writes, which takes more CPU time than the rest of the server.
      EMBEDDINGS: 'off',
      ...env,
    },
    stdout: 'pipe',
    stderr: Bun.file(logFile),
  })
  let out = ''
  const output = () => out + (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  const listening = Promise.withResolvers<string>()
  void (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) {
      out += decoder.decode(chunk, { stream: true })
      const url = / at (http:\S+)/.exec(out)?.[1]
      if (url) listening.resolve(url)
    }
  })()
  const timer = setTimeout(
    () => listening.reject(new Error(`not listening after ${timeoutMs} ms:\n${output()}`)),
    timeoutMs,
  )
  void child.exited.then((code) => listening.reject(new Error(`ended with ${code}:\n${output()}`)))
  const url = await listening.promise
    .finally(() => clearTimeout(timer))
    .catch((error) => {
      child.kill('SIGKILL')
      throw error
    })
  return {
    url,
    pid: child.pid,
    dir,
    readyAfter: performance.now() - started,
    output,
    exited: child.exited,
    signal: (name) => child.kill(name),
    kill: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
    stop: async () => {
      child.kill('SIGTERM')
      return child.exited
    },
  }
}

/** An administrator and an API key that does not expire during a test. Works on a folder with or without a running server. */
export async function apiKeyFor(server: Served, env: Record<string, string> = {}): Promise<string> {
  const made = await tutti(
    ['admin', 'create', '--email', EMAIL, '--name', 'Ada', '--password-stdin', '--data-dir', server.dir],
    {
      stdin: PASSWORD,
      env,
    },
  )
  if (made.code !== 0) throw new Error(made.err)
  const login = await fetch(`${server.url}/api/auth/login`, json('POST', { email: EMAIL, password: PASSWORD }))
  const { token } = (await login.json()) as { token: string }
  const key = await fetch(`${server.url}/api/settings/api-keys`, json('POST', { name: 'test' }, token))
  return ((await key.json()) as { token: string }).token
}

export const json = (method: string, body: unknown, token?: string): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
  body: JSON.stringify(body),
})
