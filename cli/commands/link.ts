import type { AppError } from '../../src/errors.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { helped } from '../api/hints.ts'
import { findLink, linkedProject, removeLink, writeLink } from '../api/linked.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { at } from '../api/reference.ts'
import { plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends Where {
  json?: boolean
  remove?: boolean
}

export async function link(ref: string | undefined, { json, remove, ...where }: Options): Promise<void> {
  if (remove) {
    const path = findLink()
    if (!path) throw new Refusal('This folder is not linked to a project.', 4)
    removeLink(path)
    return print(json, { path, removed: true }, `This folder is no longer linked to a project (removed ${path}).`)
  }
  const { client } = signedInClient(where)
  const before = ref === undefined ? linkedProject(client.server) : undefined
  const wanted = ref ?? before?.project
  if (wanted === undefined)
    throw new Refusal('This folder is not linked to a project. Link it: tutti link <project>', 4)
  const { id, organizationId, slug, name } = await helped(client, () =>
    client.get<Project>(at('/api/projects/:slug', wanted)),
  )
  const isMine = await client.get(at('/api/teams/:id', organizationId)).then(
    () => true,
    (error: AppError) => error.code !== 'not_found',
  )
  const linked = { server: client.server, team: isMine ? organizationId : null, project: id, slug }
  const path = before ? findLink() : writeLink(linked)
  print(json, { path, ...linked }, `This folder is ${before ? '' : 'now '}linked to ${plain(name)} (${path}).`)
}
