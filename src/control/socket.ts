import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'

export const SOCKET_NAME = 'control.sock'

/**
 * Calls `work` with the path of the data folder's control socket, or returns undefined where there can be none.
 * Socket addresses hold about 100 bytes. On Linux a longer path is shortened through a file descriptor of the folder;
 * other systems get no socket. The socket is never placed in a shared folder, where another user could listen for
 * passwords.
 */
export function withSocket<T>(dataDir: string, work: (path: string) => T): T | undefined {
  const path = join(dataDir, SOCKET_NAME)
  if (Buffer.byteLength(path) < 100) return work(path)
  if (process.platform !== 'linux') return undefined
  let fd: number
  try {
    fd = openSync(dataDir, 'r')
  } catch {
    return undefined
  }
  const done = work(`/proc/self/fd/${fd}/${SOCKET_NAME}`)
  if (done instanceof Promise) void done.finally(() => closeSync(fd)).catch(() => undefined)
  else closeSync(fd)
  return done
}
