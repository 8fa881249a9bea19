import { join, resolve } from 'node:path'
import { installInto } from '../../full/install.ts'

const { arch } = process
/** npm has the program of backlog.md, which the package of that name only starts, for this processor alone. */
export const hasBacklog = (processor: string): boolean => processor === 'x64'

/** Exact versions, from npm. memory-keeper is not among them: it compiles SQLite when it is installed. */
export const peersFor = (processor: string): Record<string, string> => ({
  'task-master-ai': '0.43.1',
  'mcp-shrimp-task-manager': '1.0.21',
  ...(hasBacklog(processor) && { [`backlog.md-linux-${processor}`]: '1.52.0' }),
  '@modelcontextprotocol/server-memory': '2026.8.31',
  '@kazuph/mcp-taskmanager': '1.1.1',
  [`node-linux-${processor}`]: '24.21.0',
})
const modules = resolve(import.meta.dir, '../../../.cache/peers/node_modules')

export const program = (path: string): string => join(modules, path)
export const node = (path: string): string[] => [program(`node-linux-${arch}/bin/node`), program(path)]

/** Without optional packages, which are the command line agents that Task Master can call. */
export const installPeers = (): Promise<void> => installInto('peers', peersFor(arch), '--omit', 'optional')
