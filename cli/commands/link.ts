import type { Project } from '../../src/features/projects/schema.ts'
import { writeLink } from '../linked.ts'
import { at } from '../noun.ts'
import { plain, print } from '../output.ts'
import { signedInClient, type Where } from '../profiles.ts'

export async function link(ref: string, { json, ...where }: Where & { json?: boolean }): Promise<void> {
  const { client } = signedInClient(where)
  const { id, slug, name } = await client.get<Project>(at('/api/projects/:slug', ref))
  const linked = { server: client.server, project: id, slug }
  const path = writeLink(linked)
  print(json, { path, ...linked }, `Work in this folder belongs to ${plain(name)} now (${path}).`)
}
