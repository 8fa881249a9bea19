import { beforeAll, describe, expect, test } from 'bun:test'
import * as mcp from '@modelcontextprotocol/client'
import { records } from '../../src/feature.ts'
import type { Link } from '../../src/features/links/schema.ts'
import { kindInfo, type RecordName } from '../../src/records/names.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { EXAMPLE_TOKEN } from '../support/code-host.ts'
import { indexed, newWord, search } from './search-support.ts'

/** Loops over the registry: what a kind says about itself in its feature's record.ts must hold in a running server. */
let t: TestApp
let ada: Person
let stranger: Person
/** The id of one record of each kind. Its text contains `word`. */
let made: Record<RecordName, string>
const word = newWord()

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  stranger = await person(t)
  const make = async (path: string, body: object): Promise<string> => {
    const { status, body: record } = await ada.fetch<{ id: string }>('POST', `/api${path}`, body)
    expect([path, status]).toEqual([path, 201])
    return record.id
  }
  await ada.fetch('PUT', '/api/settings/integrations/user/github', { secret: EXAMPLE_TOKEN })
  const title = `The ${word}`
  const projectId = await make('/projects', { name: unique('Engine'), description: title })
  const epic = await make(`/projects/${projectId}/epics`, { title })
  made = {
    project: projectId,
    epic,
    story: await make(`/projects/${projectId}/epics/${epic}/stories`, { title }),
    task: await make(`/projects/${projectId}/tasks`, { title }),
    feature: await make(`/projects/${projectId}/features`, { title }),
    note: await make('/notes', { title, projectId, scope: 'team' }),
    memory: await make('/memories', { content: title, scope: 'project', scopeId: projectId }),
    decision: await make('/decisions', { title, decision: 'It is so.', projectId }),
    spec: await make('/specs', { title, content: 'One.', projectId }),
    session: await make('/sessions', { goals: [title], projectId }),
    skill: await make('/skills', { name: title, scope: 'team' }),
    agent: await make('/agents', { name: title, scope: 'team' }),
    repository: await make('/repos', { repo: 'tutti/tutti', projectId }),
  }
}, 60_000)

const kinds = records.all.map((record) => [record.kind, record] as const)
const link = (who: Person, type: RecordName) => {
  const to = type === 'project' ? 'note' : 'project'
  return who.fetch<Link>('POST', '/api/links', { fromType: type, fromId: made[type], toType: to, toId: made[to] })
}

test('the list of names says which kinds search finds', () => {
  expect(records.all.filter(({ search }) => search).map(({ kind }) => kind)).toEqual(
    records.all.filter(({ kind }) => kindInfo(kind).searchable).map(({ kind }) => kind),
  )
})

test('search finds every kind that says so, for those who see it', async () => {
  await indexed(t)
  const { items } = await search(ada, word)
  expect(items.flatMap((group) => group.items.map(({ id }) => [group.kind, id] as string[])).toSorted()).toEqual(
    kinds.flatMap(([kind, record]) => (record.search ? [[kind, made[kind]]] : [])).toSorted(),
  )
  expect((await search(stranger, word)).items).toEqual([])
})

describe('a link', () => {
  test.each(kinds)('to a record of kind %s shows its title and where it is read', async (kind) => {
    const { status, body } = await link(ada, kind)
    expect(status).toBe(201)
    // A link without a direction may be stored either way round.
    const end = [body.from, body.to].find(({ id }) => id === made[kind])
    if (kindInfo(kind).searchable && kind !== 'project') expect(end?.title).toContain(word)
    const read = await ada.fetch('GET', `/api${end?.path}`)
    expect(read).toMatchObject({ status: 200, body: { id: made[kind] } })
  })

  test.each(kinds)('to a record of kind %s needs the right to see it', async (kind) => {
    expect((await link(stranger, kind)).status).toBe(404)
  })
})

test('every resource is listed among the templates and can be read, and nothing else', async () => {
  const client = new mcp.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const headers = { authorization: `Bearer ${await mcpToken(t, ada)}` }
  await client.connect(new mcp.StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), { requestInit: { headers } }))
  const { resourceTemplates } = await client.listResourceTemplates()
  const offered = records.all.filter(({ resource }) => resource)
  expect(resourceTemplates.map(({ name, title }) => [name, title])).toEqual(
    offered.map(({ kind, resource }) => [kind, resource?.title]),
  )
  for (const { kind } of records.all) {
    const uri = `tutti://${kind}/${made[kind]}`
    const read = await client.readResource({ uri }).catch(() => undefined)
    expect([kind, read?.contents]).toEqual([
      kind,
      offered.some((record) => record.kind === kind)
        ? [{ uri, mimeType: 'text/markdown', text: expect.stringContaining(word) }]
        : undefined,
    ])
  }
  await client.close()
})
