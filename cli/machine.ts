import { createApp } from '../src/app.ts'
import type { Config } from '../src/config.ts'
import { createLog } from '../src/log.ts'
import { askServer, type MachineAction, runMachine } from '../src/machine.ts'

/** Through the running server where there is one; else with the database opened for this one command. */
export async function machine(config: Config, name: MachineAction, input: unknown): Promise<unknown> {
  const asked = await askServer(config, name, input)
  if (asked) return asked.answer
  const app = await createApp(config, { background: false, log: createLog('warn') })
  try {
    return await runMachine(app, name, input)
  } finally {
    await app.close()
  }
}
