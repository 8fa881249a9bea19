import { createHash } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { configFolder } from '../terminal/environment.ts'

/** Whose copy it is: there is one for each server and user. */
export interface Owner {
  server: string
  userId: string
}

const folder = (): string => join(configFolder(), 'copies')

export const copyPath = ({ server, userId }: Owner): string =>
  join(folder(), `${createHash('sha256').update(`${server}\n${userId}`).digest('hex').slice(0, 24)}.sqlite`)

export const hasCopy = (owner: Owner): boolean => existsSync(copyPath(owner))

/** Deletes the copy with its journal. */
export function deleteCopyFile(path: string): void {
  for (const end of ['', '-wal', '-shm', '.lock']) rmSync(`${path}${end}`, { force: true })
}
