import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Refusal } from '../terminal/refusal.ts'

/** `.tutti.json` in a folder or one above it: which project the work in it belongs to. Holds no secret and may be committed. */
export interface Linked {
  server: string
  /** Whose project it is; none where he sees it without being in that team. */
  team: string | null
  project: string
  slug: string
}

const NAME = '.tutti.json'

export function findLink(from = process.cwd()): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isMine(join(folder, NAME))) return join(folder, NAME)
    if (folder === dirname(folder)) return undefined
  }
}

/** Another user's file in a folder that all share does not tell where one's own work goes. */
function isMine(path: string): boolean {
  const uid = statSync(path, { throwIfNoEntry: false })?.uid
  return uid !== undefined && (uid === process.getuid?.() || uid === 0 || process.platform === 'win32')
}

/** Of another server than the one that is asked, it says nothing. */
export function linkedProject(server: string): Linked | undefined {
  const path = findLink()
  if (!path) return undefined
  let linked: Partial<Linked>
  try {
    linked = JSON.parse(readFileSync(path, 'utf8')) as Partial<Linked>
  } catch {
    throw new Refusal(`${path} cannot be read. Link the folder again: tutti link <project>`)
  }
  if (typeof linked.project !== 'string' || typeof linked.server !== 'string')
    throw new Refusal(`${path} names no project. Link the folder again: tutti link <project>`)
  return linked.server === server ? (linked as Linked) : undefined
}

/** What is named in a linked folder is looked for in the team of its project. One that cannot be read is complained about where the project is needed. */
export function linkedTeam(server: string): string | undefined {
  try {
    const team = linkedProject(server)?.team
    return typeof team === 'string' ? team : undefined
  } catch {
    return undefined
  }
}

export const removeLink = (path: string): void => rmSync(path)

export function writeLink(linked: Linked, folder = process.cwd()): string {
  const path = join(folder, NAME)
  writeFileSync(path, `${JSON.stringify(linked, null, 2)}\n`)
  return path
}
