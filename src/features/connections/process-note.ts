import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { App } from '../../services.ts'

/** A process on Postgres writes it to its data folder, so that the next process knows whether it has ended. */
interface ProcessNote {
  instanceId: string
  host: string
  pid: number
  /** Milliseconds. Distinguishes processes with the same pid, as in containers. */
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
    // No file. Streams of an earlier process are closed once it has not been seen for a few seconds.
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
