import { chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadDefaults, loadDemo } from '../seeds/index.ts'
import { type Action, contextOf } from './action.ts'
import type { App } from './app.ts'
import { system } from './auth/actor.ts'
import type { Config } from './config.ts'
import { AppError, problem } from './errors.ts'
import * as accounts from './features/accounts/service.ts'
import { toAppError } from './http/problem.ts'

/**
 * What the command line may ask of a running server, through a socket in the data folder that only its owner can open.
 * No command opens the database files beside a server.
 */
export const machineActions = {
  'accounts.createAdmin': accounts.createAdmin,
  'seeds.defaults': loadDefaults,
  'seeds.demo': loadDemo,
} satisfies Record<string, Action<never, unknown>>

export type MachineAction = keyof typeof machineActions

export async function runMachine(app: App, name: MachineAction, input: unknown): Promise<unknown> {
  const action = machineActions[name] as Action<unknown, unknown> | undefined
  if (!action) throw new AppError('not_found', `No command ${name}.`)
  return action(contextOf(app, system), input)
}

/** Socket paths hold about 100 bytes; a deep data folder gets one in a private folder of the temporary directory instead. */
export function socketPath(config: Config): string {
  const path = join(config.DATA_DIR, 'control.sock')
  if (Buffer.byteLength(path) < 100) return path
  return join(tmpdir(), `tutti-${Bun.hash(config.DATA_DIR).toString(36)}-${process.getuid?.() ?? 0}.sock`)
}

export function serveMachine(app: App): { stop(): void } {
  const path = socketPath(app.config)
  rmSync(path, { force: true })
  const mask = process.umask(0o177)
  try {
    const server = Bun.serve({
      unix: path,
      async fetch(request) {
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
    return {
      stop: () => {
        server.stop(true)
        rmSync(path, { force: true })
      },
    }
  } finally {
    process.umask(mask)
  }
}

/** Asks the running server; undefined when none is running on this data folder. */
export async function askServer(config: Config, name: MachineAction, input: unknown): Promise<{ answer: unknown } | undefined> {
  let response: Response
  try {
    response = await fetch('http://tutti/', { unix: socketPath(config), method: 'POST', body: JSON.stringify({ name, input }) })
  } catch {
    return undefined
  }
  const body = (await response.json()) as { answer: unknown } & { code: AppError['code']; detail: string }
  if (!response.ok) throw new AppError(body.code, body.detail)
  return { answer: body.answer }
}
