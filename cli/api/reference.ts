import { AppError, notFound } from '../../src/errors.ts'
import type { Client } from './client.ts'

/** How people name things: by id, its beginning, slug, key or number. The API's paths take all of them, its filters and some fields ids alone. */
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

/** Of what a user has few of, and the API knows by id alone: found among them by name, slug, address or the beginning of the id. */
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
      `Several ${what}s are "${ref}": ${found.map(({ id }) => id).join(', ')}. Name one by its id.`,
    )
  return found[0].id
}
