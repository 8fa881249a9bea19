import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Refusal } from '../terminal/refusal.ts'

/**
 * `.tutti.json` in a folder or a parent folder: the project it is linked to. Contains no secret and may be committed.
 */
export interface ProjectLink {
  server: string
  /** The team of the project; null if the user can see the project without being a member. */
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

/** Ignores files of other users: in a shared folder, they must not choose the project for someone else's work. */
function isMine(path: string): boolean {
  const uid = statSync(path, { throwIfNoEntry: false })?.uid
  return uid !== undefined && (uid === process.getuid?.() || uid === 0 || process.platform === 'win32')
}

/** Returns undefined if the folder is linked to a project on another server. */
export function linkedProject(server: string): ProjectLink | undefined {
  const path = findLink()
  if (!path) return undefined
  let linked: Partial<ProjectLink>
  try {
    linked = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProjectLink>
  } catch {
    throw new Refusal(`${path} cannot be parsed. Link the folder again: tutti link <project>`)
  }
  if (typeof linked.project !== 'string' || typeof linked.server !== 'string')
    throw new Refusal(`${path} does not name a project. Link the folder again: tutti link <project>`)
  return linked.server === server ? (linked as ProjectLink) : undefined
}

/** Returns the team of the linked project. A broken link file is reported later, when the project is needed. */
export function linkedTeam(server: string): string | undefined {
  try {
    const team = linkedProject(server)?.team
    return typeof team === 'string' ? team : undefined
  } catch {
    return undefined
  }
}

export const removeLink = (path: string): void => rmSync(path)

export function writeLink(linked: ProjectLink, folder = process.cwd()): string {
  const path = join(folder, NAME)
  writeFileSync(path, `${JSON.stringify(linked, null, 2)}\n`)
  return path
}
