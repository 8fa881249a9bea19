import { createApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { askServer } from '../../src/control/client.ts'
import { runControlAction } from '../../src/control/server.ts'
import { createLog } from '../../src/log.ts'
import { requireDatabase } from './settings.ts'

/** Actions that may create the database: they can be the first thing that is done with an installation. */
const canBeFirst = new Set(['accounts.createAdmin', 'seeds.defaults', 'seeds.demo'])

/** Runs an action in the running server, or opens the database for this one command when no server runs. */
export async function control(config: Config, name: string, input: unknown): Promise<unknown> {
  const asked = await askServer(config, name, input)
  if (asked) return asked.answer
  if (!canBeFirst.has(name)) requireDatabase(config)
  const app = await createApp(config, { background: false, log: createLog('warn') })
  try {
    return await runControlAction(app, name, input)
  } finally {
    await app.close()
  }
}
