import { freePort } from '../support/port.ts'
import type { Programs } from './programs.ts'

/** Starts PgBouncer in transaction mode in front of a database, and returns the database's address through it. */
export async function startPooler(programs: Programs, database: string, ...settings: string[]): Promise<string> {
  const port = freePort()
  const to = new URL(database)
  const name = `pgbouncer-${port}`
  const config = [
    '[databases]',
    `* = host=${to.hostname} port=${to.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    ...settings,
  ]
  const program = programs.start(name, ['pgbouncer', await programs.write(`${name}.ini`, `${config.join('\n')}\n`)])
  await program.until(() => program.output().includes(`127.0.0.1:${port}`))
  return database.replace(/@[^/]+/, `@127.0.0.1:${port}`)
}
