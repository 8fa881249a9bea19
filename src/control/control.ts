import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { loadDefaults, loadDemo } from '../../seeds/index.ts'
import { type Action, contextOf } from '../action.ts'
import { system } from '../auth/actor.ts'
import type { Config } from '../config.ts'
import { AppError, problem } from '../errors.ts'
import { setPassword } from '../features/accounts/passwords.ts'
import * as accounts from '../features/accounts/service.ts'
import { make as makeBackup } from '../features/backups/service.ts'
import { outbox } from '../features/mail/service.ts'
import { check, type Running, running } from '../features/upkeep/service.ts'
import { toAppError } from '../http/problem.ts'
import type { App } from '../services.ts'

/**
 * What the command line may ask of a running server, through a socket in the data folder that only its owner can open.
 * No command opens the database files beside a server.
 */
export const machineActions = {
  'accounts.createAdmin': accounts.createAdmin,
  'accounts.setPassword': setPassword,
  'backups.make': makeBackup,
  'mail.outbox': outbox,
  'upkeep.check': check,
  'upkeep.running': running,
  'seeds.defaults': loadDefaults,
  'seeds.demo': loadDemo,
} satisfies Record<string, Action<never, unknown>>

export type MachineAction = keyof typeof machineActions

export async function runMachine(app: App, name: MachineAction, input: unknown): Promise<unknown> {
  const action = machineActions[name] as Action<unknown, unknown> | undefined
  if (!action) throw new AppError('not_found', `No command ${name}.`)
  return action(contextOf(app, system), input)
}

/**
 * Socket addresses hold about 100 bytes. On Linux a deep data folder is reached through a descriptor of it; elsewhere it goes without a
 * socket. Never a path in a shared folder: whoever listened there would be told passwords.
 */
function withSocket<T>(config: Config, work: (path: string) => T): T | undefined {
  const path = join(config.DATA_DIR, 'control.sock')
  if (Buffer.byteLength(path) < 100) return work(path)
  if (process.platform !== 'linux') return undefined
  let fd: number
  try {
    fd = openSync(config.DATA_DIR, 'r')
  } catch {
    return undefined
  }
  const done = work(`/proc/self/fd/${fd}/control.sock`)
  if (done instanceof Promise) void done.finally(() => closeSync(fd)).catch(() => undefined)
  else closeSync(fd)
  return done
}

/** Of several servers that share a Postgres and a folder, the first one is asked: a second would take its socket away, and then its own. */
export async function serveMachine(app: App): Promise<{ stop(): void }> {
  if (await isServing(app.config)) {
    app.log.warn('another server has the control socket of this data folder: commands ask that one')
    return { stop: () => undefined }
  }
  const stop = withSocket(app.config, (path) => listen(app, path))
  if (!stop)
    app.log.warn(
      'the data folder has too long a path for the control socket: `tutti admin` works only while the server is stopped',
    )
  return { stop: stop ?? (() => undefined) }
}

function listen(app: App, path: string): () => void {
  rmSync(path, { force: true })
  const mask = process.umask(0o177)
  try {
    const server = Bun.serve({
      unix: path,
      async fetch(request) {
        if (request.method === 'HEAD') return new Response()
        try {
          const { name, input } = (await request.json()) as { name: MachineAction; input: unknown }
          return Response.json({ answer: (await runMachine(app, name, input)) ?? null })
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
      rmSync(join(app.config.DATA_DIR, 'control.sock'), { force: true })
    }
  } finally {
    process.umask(mask)
  }
}

/** Asks the running server; undefined when none is running on this data folder. */
export async function askServer(
  config: Config,
  name: MachineAction,
  input: unknown,
): Promise<{ answer: unknown } | undefined> {
  const response = await withSocket(config, (unix) =>
    fetch('http://tutti/', { unix, method: 'POST', body: JSON.stringify({ name, input }), timeout: false }).catch(
      unlessCut,
    ),
  )
  if (!response) return undefined
  const body = (await response.json()) as { answer: unknown } & { code: AppError['code']; detail: string }
  if (!response.ok) throw new AppError(body.code, body.detail)
  return { answer: body.answer }
}

/** Nobody listens: no server. Whoever listened and then was gone leaves it open whether it was done. */
function unlessCut(error: { code?: string }): undefined {
  if (error.code !== 'ECONNRESET' && error.code !== 'ConnectionClosed') return undefined
  throw new AppError(
    'unavailable',
    'The server ended before it answered. Look into its log, and ask again once it runs.',
  )
}

/** The server that runs on this data folder, as it tells; one that is older knows less. */
export async function runningServer(config: Config): Promise<Partial<Running> | undefined> {
  if (!(await isServing(config))) return undefined
  return ((await askServer(config, 'upkeep.running', {}).catch(() => undefined))?.answer as Running | undefined) ?? {}
}

export async function isServing(config: Config): Promise<boolean> {
  const response = await withSocket(config, (unix) =>
    fetch('http://tutti/', { unix, method: 'HEAD' }).catch(() => undefined),
  )
  return response !== undefined
}
