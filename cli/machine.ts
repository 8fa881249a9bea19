import { createApp } from '../src/app.ts'
import type { Config } from '../src/config.ts'
import { hasDatabase } from '../src/db/index.ts'
import { createLog } from '../src/log.ts'
import { askServer, type MachineAction, runMachine } from '../src/machine.ts'
import { Refusal } from './refusal.ts'

/** A mistyped folder must not become a new installation. */
export function requireDatabase(config: Config): void {
  if (!hasDatabase(config)) throw new Refusal(`There is no database in ${config.DATA_DIR}. Name the data folder with --data-dir.`, 4)
}

/** What may be the first thing that is done with an installation. */
const first = new Set<MachineAction>(['accounts.createAdmin', 'seeds.defaults', 'seeds.demo'])

/** Through the running server where there is one; else with the database opened for this one command. */
export async function machine(config: Config, name: MachineAction, input: unknown): Promise<unknown> {
  const asked = await askServer(config, name, input)
  if (asked) return asked.answer
  if (!first.has(name)) requireDatabase(config)
  const app = await createApp(config, { background: false, log: createLog('warn') })
  try {
    return await runMachine(app, name, input)
  } finally {
    await app.close()
  }
}
