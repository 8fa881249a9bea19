import { seedHandlers } from '../../seeds/handlers.ts'
import { createApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { askServer } from '../../src/control/client.ts'
import type { ControlCommand } from '../../src/control/command.ts'
import { runInProcess } from '../../src/control/server.ts'
import { createLog } from '../../src/log.ts'
import { requireDatabase } from './settings.ts'

/** Runs a command in the running server, or opens the database for this one command when no server runs. */
export async function runControlCommand<I, O>(config: Config, command: ControlCommand<I, O>, input: I): Promise<O> {
  const asked = await askServer(config, command, input)
  if (asked) return asked.answer
  if (!command.createsDatabase) requireDatabase(config)
  const app = await createApp(config, { background: false, log: createLog('warn'), control: seedHandlers })
  try {
    return await runInProcess(app, command, input)
  } finally {
    await app.close()
  }
}
