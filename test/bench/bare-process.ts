import { join } from 'node:path'
import { type Process, start } from './processes.ts'
import type { World } from './world.ts'

/** Starts the bare limit (`bare.ts`) on the data of `env`, which no other process may have open if it is embedded. */
export const bareOf = (world: World, env: World['env']): Promise<Process> =>
  start([process.execPath, join(import.meta.dir, 'bare.ts'), world.userId, world.noteId], {
    ...env,
    LOG_LEVEL: 'error',
  })
