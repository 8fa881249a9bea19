import type { AppError } from '../../src/errors.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { findLink, linkedProject, removeLink, writeLink } from '../api/project-link.ts'
import { pathTo } from '../api/reference.ts'
import { printResult, safeLine } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends ServerChoice {
  json?: boolean
  remove?: boolean
}

export async function linkFolder(ref: string | undefined, { json, remove, ...where }: Options): Promise<void> {
  if (remove) {
    const path = findLink()
    if (!path) throw new Refusal('This folder is not linked to a project.', 4)
    removeLink(path)
    return printResult(json, { path, removed: true }, `This folder is no longer linked to a project (removed ${path}).`)
  }
  const { client } = signedInClient(where)
  const before = ref === undefined ? linkedProject(client.server) : undefined
  const wanted = ref ?? before?.project
  if (wanted === undefined)
    throw new Refusal('This folder is not linked to a project. Link it: tutti link <project>', 4)
  const { id, organizationId, slug, name } = await withHints(client, () =>
    client.get<Project>(pathTo('/api/projects/:slug', wanted)),
  )
  const isMine = await client.get(pathTo('/api/teams/:id', organizationId)).then(
    () => true,
    (error: AppError) => error.code !== 'not_found',
  )
  const linked = { server: client.server, team: isMine ? organizationId : null, project: id, slug }
  const path = before ? findLink() : writeLink(linked)
  printResult(json, { path, ...linked }, `This folder is ${before ? '' : 'now '}linked to ${safeLine(name)} (${path}).`)
}
