import type { Config } from '../config.ts'
import { AppError, type Problem, publicFacts } from '../errors.ts'
import { type ControlCommand, command } from './command.ts'
import { withSocket } from './socket.ts'

/** What a running server says about itself. */
export interface RunningServer {
  version: string
  pid: number
  /** The address that users open. */
  url: string
  host: string
  port: number
  /** Migrations that the database has. */
  applied: string[]
}

export const runningCommand = command<Record<string, never>, RunningServer>('upkeep.running')

/** Runs a command in the server of this data folder. Returns undefined when no server is running there. */
export async function askServer<I, O>(
  config: Config,
  { name }: ControlCommand<I, O>,
  input: I,
): Promise<{ answer: O } | undefined> {
  const response = await withSocket(config.DATA_DIR, (unix) =>
    fetch('http://tutti/', { unix, method: 'POST', body: JSON.stringify({ name, input }), timeout: false }).catch(
      connectionFailed,
    ),
  )
  if (!response) return undefined
  const body = (await response.json()) as { answer: O } & Problem
  if (!response.ok) throw new AppError(body.code, body.detail, publicFacts(body))
  return { answer: body.answer }
}

/**
 * Returns undefined when nothing listens: no server runs. A connection that was accepted and then cut is an error,
 * because the action may or may not have been carried out.
 */
function connectionFailed(error: { code?: string }): undefined {
  if (error.code !== 'ECONNRESET' && error.code !== 'ConnectionClosed') return undefined
  throw new AppError(
    'unavailable',
    'The server stopped before it replied. Check its log, and try again once it is running.',
  )
}

/** Describes the server that runs on this data folder, if any. Fields are missing when that server is an older one. */
export async function findRunningServer(config: Config): Promise<Partial<RunningServer> | undefined> {
  if (!(await isServerRunning(config))) return undefined
  const asked = await askServer(config, runningCommand, {}).catch(() => undefined)
  return asked?.answer ?? {}
}

export async function isServerRunning(config: Config): Promise<boolean> {
  const response = await withSocket(config.DATA_DIR, (unix) =>
    fetch('http://tutti/', { unix, method: 'HEAD' }).catch(() => undefined),
  )
  return response !== undefined
}
