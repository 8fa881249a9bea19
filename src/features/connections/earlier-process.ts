import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { App } from '../../services.ts'

/** What a process on Postgres leaves in its data folder, so that the next one knows at once whether it has ended. */
interface ProcessNote {
  instanceId: string
  host: string
  pid: number
  /** Milliseconds: tells apart two processes that had the same number, as those of a container have. */
  startedAt: number
}

const pathOf = ({ config }: App): string => join(config.DATA_DIR, 'process.json')

/** Returns the id of the process that used the data folder before this one, if that process has certainly ended. */
export function findEndedProcess(app: App): string | undefined {
  try {
    const note = JSON.parse(readFileSync(pathOf(app), 'utf8')) as ProcessNote
    if (note.host !== hostname() || note.startedAt === performance.timeOrigin) return undefined
    return note.pid === process.pid || !isRunning(note.pid) ? note.instanceId : undefined
  } catch {
    // There is none. Its streams, if it had any, are closed when it has not been seen for a few seconds.
    return undefined
  }
}

export function writeProcessNote(app: App): void {
  const { instanceId } = app
  const note: ProcessNote = { instanceId, host: hostname(), pid: process.pid, startedAt: performance.timeOrigin }
  try {
    writeFileSync(pathOf(app), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    app.log.debug('the data folder cannot be written', { error })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
