import { existsSync, readFileSync } from 'node:fs'

interface Trial {
  binary: string
  version: string
  dataDir: string
  configFile?: string
  /** File for what the server writes to standard error. */
  errors: string
  seconds: number
}

/**
 * Starts a server on a random port, without background work, so that it sends no mail. Returns undefined when it
 * becomes ready, or the reason why it did not.
 */
export async function tryServer(trial: Trial): Promise<string | undefined> {
  const { version, errors, seconds } = trial
  const port = freePort()
  const child = Bun.spawn(commandOf(trial, port), { stdin: 'pipe', stdout: 'ignore', stderr: Bun.file(errors) })
  const deadline = Date.now() + seconds * 1000
  let exitCode: number | undefined
  // Read before the process is killed, whose own exit code says nothing about the trial.
  let endedWith: number | undefined
  void child.exited.then((code) => {
    exitCode = code
  })
  try {
    while (exitCode === undefined && Date.now() < deadline) {
      if (await isReady(port, version)) return undefined
      await Bun.sleep(100)
    }
    endedWith = exitCode
  } finally {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await child.exited
    clearTimeout(timer)
  }
  const output = existsSync(errors) ? readFileSync(errors, 'utf8').trim().split('\n').slice(-5).join('\n') : ''
  const reason =
    endedWith === undefined ? `it was not ready after ${seconds} s` : `it ended with exit code ${endedWith}`
  return output ? `${reason}\n${output}` : reason
}

const commandOf = ({ binary, dataDir, configFile }: Trial, port: number): string[] => [
  ...[binary, 'serve', '--trial', '--host', '127.0.0.1', '--port', String(port), '--data-dir', dataDir],
  ...(configFile ? ['--config', configFile] : []),
]

async function isReady(port: number, version: string): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(2000) })
    return response.status === 200 && ((await response.json()) as { version?: string }).version === version
  } catch {
    return false
  }
}

/** Returns a free port below the ephemeral range, whose ports the system could assign before the server starts. */
function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}
