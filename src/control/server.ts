import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contextOf } from '../action.ts'
import { operator } from '../auth/actor.ts'
import { AppError, problem } from '../errors.ts'
import type { App } from '../services.ts'
import { toAppError } from '../thrown.ts'
import { isServerRunning } from './client.ts'
import type { CommandHandler, ControlCommand } from './command.ts'
import { SOCKET_NAME, withSocket } from './socket.ts'

/** An app that takes commands. */
interface ControlledApp extends App {
  readonly control: ReadonlyMap<string, CommandHandler>
}

function runNamed(app: ControlledApp, name: string, input: unknown): Promise<unknown> {
  const handler = app.control.get(name)
  if (!handler) throw new AppError('not_found', `This server has no control command ${name}.`)
  return handler.run(contextOf(app, operator), input)
}

/** Runs a command in this process. */
export const runInProcess = async <I, O>(app: ControlledApp, { name }: ControlCommand<I, O>, input: I): Promise<O> =>
  (await runNamed(app, name, input)) as O

/**
 * Opens the control socket in the data folder, which only its owner can use. No command opens the database files while
 * a server runs on them. When several servers share a Postgres and a data folder, the first one keeps the socket: a
 * second one would take it away, and remove it when it stops.
 */
export async function serveControl(app: ControlledApp): Promise<{ stop(): void }> {
  if (await isServerRunning(app.config)) {
    app.log.warn('another server already has the control socket of this data folder; commands go to that server')
    return { stop: () => undefined }
  }
  const stop = withSocket(app.config.DATA_DIR, (path) => listen(app, path))
  if (!stop)
    app.log.warn(
      'the path of the data folder is too long for a control socket: `tutti admin` works only while no server runs',
    )
  return { stop: stop ?? (() => undefined) }
}

function listen(app: ControlledApp, path: string): () => void {
  rmSync(path, { force: true })
  const mask = process.umask(0o177)
  try {
    const server = Bun.serve({
      unix: path,
      async fetch(request) {
        if (request.method === 'HEAD') return new Response()
        try {
          const { name, input } = (await request.json()) as { name: string; input: unknown }
          return Response.json({ answer: (await runNamed(app, name, input)) ?? null })
        } catch (error) {
          const known = toAppError(error)
          if (known.status === 500) app.log.error('command failed', { error })
          return Response.json(problem(known, '/', 'control'), { status: known.status })
        }
      },
    })
    chmodSync(path, 0o600)
    return () => {
      server.stop(true)
      rmSync(join(app.config.DATA_DIR, SOCKET_NAME), { force: true })
    }
  } finally {
    process.umask(mask)
  }
}
