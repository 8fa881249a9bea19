import { type ChildProcess, spawn } from 'node:child_process'
import { ActionFailure, type ActionRun } from './action.ts'

interface Start {
  argv: readonly string[]
  folder: string
  env: Record<string, string>
  /** Milliseconds until it is ended. */
  ms: number
}

/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 5000
/**
 * Runs a program without a shell and resolves when it has ended. At the time limit, or when the action is cancelled,
 * ends its whole process group, so that nothing it started keeps running.
 */
export async function runProgram({ argv, folder, env, ms }: Start, run: ActionRun): Promise<Exit> {
  run.signal.throwIfAborted()
  const [program, ...args] = argv as [string, ...string[]]
  const child = spawn(program, args, {
    cwd: folder,
    env,
    detached: true,
    shell: false,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const limit = AbortSignal.timeout(ms)
  const signal = AbortSignal.any([run.signal, limit])
  let killing: Timer | undefined
  const end = () => {
    signalGroup(child, 'SIGTERM')
    killing = setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS)
  }
  signal.addEventListener('abort', end, { once: true })
  child.stdout?.setEncoding('utf8').on('data', (text: string) => run.print(text, 'out'))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => run.print(text, 'err'))
  try {
    const exit = await exitOf(child)
    if (run.signal.aborted) throw run.signal.reason
    if (limit.aborted)
      throw new ActionFailure('timed_out', `The program took longer than ${Math.round(ms / 1000)} seconds.`)
    return exit
  } finally {
    signal.removeEventListener('abort', end)
    clearTimeout(killing)
    // Processes that the program left behind must not outlive the action.
    signalGroup(child, 'SIGKILL')
  }
}

interface Exit {
  code: number | null
  signal: string | null
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(new ActionFailure('failed', `The program could not be started (${error.code ?? error.message}).`)),
    )
    // Child processes may keep the streams of the program open, so its own exit counts.
    child.on('exit', (code, signal) => {
      const drained = setTimeout(() => resolve({ code, signal }), 1000)
      child.on('close', () => {
        clearTimeout(drained)
        resolve({ code, signal })
      })
    })
  })
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    // The group has ended.
  }
}
