import { AppError, notFound } from '../../src/errors.ts'
import type { Client } from './client.ts'

/**
 * People refer to things by id, the beginning of an id, slug, key or number. Paths of the API accept all of these,
 * filters and some fields only ids.
 */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const at = (path: string, ...refs: (string | undefined)[]): string =>
  path.replace(/:\w+/g, () => encodeURIComponent(refs.shift() ?? ''))

export function query(path: string, values: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `${path}?${search}` : path
}

export async function idOf(client: Client, path: string, ref: string): Promise<string> {
  return uuid.test(ref) ? ref : (await client.get<{ id: string }>(at(`${path}/:ref`, ref))).id
}
export const projectId = (client: Client, ref: string): Promise<string> => idOf(client, '/api/projects', ref)

interface Named {
  id: string
  name: string
  slug?: string
  email?: string
}

/**
 * Finds one of the user's few items by name, slug, e-mail address or the beginning of its id, where the API accepts
 * only ids.
 */
export async function amongMine(client: Client, path: string, what: string, ref: string): Promise<string> {
  if (uuid.test(ref)) return ref
  const { items } = await client.get<{ items: Named[] }>(`${path}?limit=200`)
  const wanted = ref.toLowerCase()
  const found = [
    items.filter(({ slug, email }) => slug === wanted || email?.toLowerCase() === wanted),
    items.filter(({ name }) => name === ref),
    items.filter(({ name }) => name.toLowerCase() === wanted),
    items.filter(({ id }) => ref.length >= 8 && id.startsWith(wanted)),
  ].find((some) => some.length > 0)
  if (!found?.[0]) throw notFound(what, ref)
  if (found.length > 1)
    throw new AppError(
      'not_found',
      `Several ${what}s match "${ref}": ${found.map(({ id }) => id).join(', ')}. Use the id of one.`,
    )
  return found[0].id
}
