import { createApp } from '../src/app.ts'
import type { Config } from '../src/config.ts'
import { askServer, type MachineAction, runMachine } from '../src/control/control.ts'
import { createLog } from '../src/log.ts'
import { requireDatabase } from './settings.ts'

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
