import { describe, expect, test } from 'bun:test'
import { type RouteLike, routeAction } from '../../src/http/openapi.ts'
import { kinds, type RecordName } from '../../src/records/names.ts'
import { indexed, newWord } from '../features/search-support.ts'
import { inside } from '../features/support.ts'
import { mcpToken, member, type Person, person, unique } from '../support/app.ts'
import { type MadeRecord, oneOfEach } from '../support/records.ts'
import { nameOf, routes, ruleOf, t, withToken } from './ask.ts'

/** Every list, feed, search and detail follows the rights of the moment, not those of the time when something happened. */
interface Room {
  owner: Person
  reader: Person
  /** In the title of every record. */
  word: string
  one: Partial<Record<RecordName, MadeRecord>>
  /** An activity of the project that has the word in its text. */
  activityId: string
}

/** A team with one record of each of these kinds, and a member who was told of some of them. */
async function room(which: readonly RecordName[]): Promise<Room> {
  const self = await person(t)
  const team = (await self.fetch<{ id: string }>('POST', '/api/teams', { name: unique('team') })).body
  const owner = inside(self, team.id)
  const reader = await member(t, owner, 'member')
  const word = newWord()
  const more = { task: { assignee: reader.userId }, feature: { assignee: reader.userId } }
  const one = await oneOfEach(owner, {
    kinds: which,
    words: (kind) => ({ title: `${word} ${kind}`, text: 'Some text.' }),
    more,
  })
  await owner.fetch('PATCH', `/api/specs/${one.spec?.id}`, { content: `Now with ${word}.` })
  await owner.fetch('POST', `/api/tasks/${one.task?.id}/comments`, { body: `@${reader.email} look at ${word}` })
  await indexed(t)
  const activities = (await owner.fetch<{ items: { id: string }[] }>('GET', '/api/activities')).body.items
  const activityId = activities.find((activity) => JSON.stringify(activity).includes(word))?.id as string
  return { owner, reader, word, one, activityId }
}

/** Routes that read, for anybody but administrators. */
const reading = routes.filter(
  (route) => route.method === 'GET' && routeAction(route).kind === 'read' && !ruleOf(route).admin,
)

/** The address of a route for this room: with ids of its records, and questions for its word. */
function addressOf({ path, hooks: { query } }: RouteLike, { owner, word, one, activityId }: Room): string {
  const filled = path.replace(/\/([\w-]+)\/:(\w+)/g, (_, collection: string) => {
    const [kind] = Object.entries(kinds).find(([, info]) => 'path' in info && info.path === `/${collection}`) ?? []
    const others: Record<string, string> = { teams: owner.organizationId, activities: activityId }
    const id = others[collection] ?? one[kind as RecordName]?.id
    return `/${collection}/${id ?? one[collection.replace(/s$/, '') as RecordName]?.id ?? 'none'}`
  })
  const fields = Object.keys((query?.properties ?? {}) as object)
  const given = { q: word, query: word, projectId: one.project?.id, ...(path.endsWith('/compare') && { from: '1' }) }
  const asked = Object.entries(given).filter(([name, value]) => fields.includes(name) && value)
  return `${filled}?${new URLSearchParams(asked as [string, string][])}`
}

/** Routes and tools whose answer contains the word. */
async function seenBy(who: Pick<Person, 'fetch'>, of: Room, token?: string, where = reading): Promise<string[]> {
  const seen: string[] = []
  for (const route of where) {
    // Without it, /api/events is a stream that does not end.
    const { body } = await who.fetch('GET', addressOf(route, of), undefined, { accept: 'application/json' })
    // A question that is repeated in the answer is no finding.
    if (JSON.stringify(body).replaceAll(`"${of.word}"`, '').includes(of.word)) seen.push(nameOf(route))
  }
  const tools: [string, object][] = [
    ['search_memory', { query: of.word }],
    ['list_tasks', {}],
    ['list_activities', {}],
    ['list_decisions', {}],
    ['get_context', { project: of.one.project?.id }],
  ]
  for (const [name, args] of token ? tools : []) {
    const params = { name, arguments: args }
    const response = await fetch(`${t.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    if ((await response.text()).includes(of.word)) seen.push(name)
  }
  return seen
}

const all = Object.keys(kinds) as RecordName[]
const ofProject = all.filter((kind) => !['skill', 'agent'].includes(kind))
const feeds = [
  'GET /api/activities',
  'GET /api/activities/:id',
  'GET /api/notifications',
  'GET /api/search',
  'GET /api/search/suggestions',
  'GET /api/teams/:id/activity',
  'GET /api/projects/:slug/tree',
  'GET /api/context',
  'GET /api/tasks',
  'GET /api/notes',
  'GET /api/specs/:id/compare',
  'search_memory',
  'list_tasks',
]

describe('nothing remains readable', () => {
  test.each<[string, readonly RecordName[], (at: Room) => Promise<{ status: number }>]>([
    [
      'for a member who was removed from the team',
      all,
      ({ owner, reader }) => owner.fetch('DELETE', `/api/teams/${owner.organizationId}/members/${reader.userId}`),
    ],
    [
      'of a project that became private',
      ofProject,
      ({ owner, one }) => owner.fetch('POST', `/api/projects/${one.project?.id}/share`, { visibility: 'private' }),
    ],
    [
      'of a project that was deleted',
      ofProject,
      ({ owner, one }) => owner.fetch('DELETE', `/api/projects/${one.project?.id}`),
    ],
  ])('%s', async (_, which, revoke) => {
    const at = await room(which)
    const reader = inside(at.reader, at.owner.organizationId)
    const token = await mcpToken(t, reader)
    // Of everything once: an answer that is kept for a reader must not outlive their rights on any route.
    const before = which === all ? reading : reading.filter((route) => feeds.includes(nameOf(route)))
    expect(await seenBy(reader, at, token, before)).toEqual(expect.arrayContaining(feeds))
    expect((await revoke(at)).status).toBe(200)
    expect(await seenBy(reader, at, token)).toEqual([])
    // Neither where they are at home, without the team's header.
    expect(await seenBy(withToken(at.reader.token), at)).toEqual([])
  })

  test.each(['owner', 'admin'] as const)(
    'of a project that became private, except for an %s of the team',
    async (role) => {
      const at = await room(['project', 'task', 'note', 'spec'])
      const other = role === 'owner' ? at.owner : inside(await member(t, at.owner, role), at.owner.organizationId)
      await at.owner.fetch('POST', `/api/projects/${at.one.project?.id}/share`, { visibility: 'private' })
      const lists = reading.filter((route) =>
        ['GET /api/tasks', 'GET /api/notes', 'GET /api/search'].includes(nameOf(route)),
      )
      expect(await seenBy(other, at, undefined, lists)).toEqual(lists.map(nameOf))
    },
  )
})
