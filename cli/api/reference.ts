import { AppError, notFound } from '../../src/errors.ts'
import { isId } from '../../src/records/reference.ts'
import type { Client } from './client.ts'

/**
 * Users refer to records by id, the beginning of an id, slug, key or number. Paths of the API accept all of these;
 * filters and some fields accept only ids.
 */

export const pathTo = (path: string, ...refs: (string | undefined)[]): string =>
  path.replace(/:\w+/g, () => encodeURIComponent(refs.shift() ?? ''))

export function withQuery(path: string, values: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `${path}?${search}` : path
}

export async function findId(client: Client, path: string, ref: string): Promise<string> {
  return isId(ref) ? ref : (await client.get<{ id: string }>(pathTo(`${path}/:ref`, ref))).id
}
export const findProjectId = (client: Client, ref: string): Promise<string> => findId(client, '/api/projects', ref)

/** Returns the id of the team that the user works with. */
export const currentTeamId = async (client: Client): Promise<string> =>
  client.team ?? (await client.get<{ id: string }>('/api/team')).id

interface Named {
  id: string
  name?: string
  title?: string
  slug?: string
  email?: string
}

/**
 * Finds one item of a list by id, slug, e-mail address, name, title or the beginning of its id, where the API accepts
 * only ids.
 */
export async function findItem<T extends Named>(
  client: Client,
  path: string,
  what: string,
  ref: string,
  filters: Record<string, unknown> = {},
): Promise<T> {
  const items: T[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.get<{ items: T[]; nextCursor: string | null }>(
      withQuery(path, { ...filters, limit: 200, cursor }),
    )
    items.push(...page.items)
    cursor = page.nextCursor
  }
  const wanted = ref.toLowerCase()
  const called = ({ name, title }: Named): string => name ?? title ?? ''
  const found = [
    items.filter(({ id, slug, email }) => id === wanted || slug === wanted || email?.toLowerCase() === wanted),
    items.filter((item) => called(item) === ref),
    items.filter((item) => called(item).toLowerCase() === wanted),
    items.filter(({ id }) => ref.length >= 8 && id.startsWith(wanted)),
  ].find((some) => some.length > 0)
  if (!found?.[0]) throw notFound(what, ref)
  if (found.length > 1)
    throw new AppError(
      'not_found',
      `Several ${what}s match "${ref}": ${found.map(({ id }) => id).join(', ')}. Use the id of one.`,
    )
  return found[0]
}

/** Returns the id of one of the user's few items. An id is not looked up. */
export const findOwnId = async (
  client: Client,
  path: string,
  what: string,
  ref: string,
  filters?: Record<string, unknown>,
): Promise<string> => (isId(ref) ? ref : (await findItem(client, path, what, ref, filters)).id)
