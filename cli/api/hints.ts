import { AppError } from '../../src/errors.ts'
import { kindInfo, type RecordName, recordNames } from '../../src/records/names.ts'
import { isSimilar } from '../../src/text/similarity.ts'
import { safeLine } from '../terminal/output.ts'
import type { Client } from './client.ts'
import { withQuery } from './reference.ts'

interface List {
  noun: string
  path?: string
}

/** The noun that lists each kind of record, and the route to find similar names in. */
const listsByKind: Readonly<Record<string, List>> = {
  ...Object.fromEntries(recordNames.flatMap((name) => listOf(name) ?? [])),
  activity: { noun: 'activity' },
  team: { noun: 'teams', path: '/api/teams' },
  organization: { noun: 'teams', path: '/api/teams' },
  token: { noun: 'tokens', path: '/api/mcp-tokens' },
  notification: { noun: 'notifications' },
  integration: { noun: 'integrations' },
}

function listOf(name: RecordName): [string, List][] | undefined {
  const { noun, path, named } = kindInfo(name)
  return noun === undefined ? undefined : [[name, { noun, ...(named && { path: `/api${path}` }) }]]
}

/** Runs the work. If a record was not found, the error suggests similar names or the command that lists them. */
export async function withHints<T>(client: Client, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
    const { subject } = error.details
    const list = subject && listsByKind[subject.kind]
    if (!list) throw error
    const near = list.path ? await findSimilar(client, list.path, subject.ref) : []
    const hint =
      near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `List ${list.noun} with: tutti ${list.noun} list`
    throw new AppError('not_found', `${error.message} ${hint}`, error.details)
  }
}

interface Named {
  id: string
  key?: string
  slug?: string | null
  name?: string
  title?: string
}

async function findSimilar(client: Client, path: string, ref: string): Promise<string[]> {
  // The number of a task is never nearly right.
  if (/^[a-z]+-\d+$/i.test(ref)) return []
  const { items } = await client
    .get<{ items: Named[] }>(withQuery(path, { limit: 200 }))
    .catch(() => ({ items: [] as Named[] }))
  const near = (text: string | null | undefined) => !!text && isSimilar(ref, text)
  return items
    .filter(({ key, slug, name, title }) => [key, slug, name, title].some(near))
    .slice(0, 3)
    .map(({ key, slug, id, name, title }) => {
      // Projects are known by their slug, tasks by their key.
      const goesBy = slug ?? key ?? id.slice(0, 13)
      const called = safeLine(name ?? title ?? '')
      return called && called !== goesBy ? `${goesBy} (${called})` : goesBy
    })
}
