import { type Process, rssMb } from './processes.ts'
import { type Connection, connect } from './sse-load.ts'

/** A token may have ten at once. */
const EACH = 10

/** What an open stream costs: 500 of them, shaken hands with and one call made on each, as the growth of the server's memory. */
export async function streamCost(
  server: Process,
  tokens: readonly string[],
  tool: object,
): Promise<{ kb: number; streams: number; leftMb: number }> {
  const open: Connection[] = []
  const add = async (token: string, n: number): Promise<void> => {
    for (let i = 0; i < n; i++) {
      const connection = await connect(server.url, token)
      await connection.call('tools/call', tool)
      open.push(connection)
    }
  }
  // The first ones load code and fill caches, which is not what a stream costs.
  await add(tokens[0] as string, EACH)
  for (const connection of open.splice(0)) await connection.close()
  await Bun.sleep(1000)
  const before = rssMb(server.pid)
  for (const token of tokens) await add(token, EACH)
  await Bun.sleep(2000)
  const kb = ((rssMb(server.pid) - before) * 1024) / open.length
  const streams = open.length
  for (const connection of open) await connection.close()
  await Bun.sleep(2000)
  return { kb, streams, leftMb: rssMb(server.pid) - before }
}
