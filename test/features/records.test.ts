import { beforeAll, describe, expect, test } from 'bun:test'
import * as mcp from '@modelcontextprotocol/client'
import { eq } from 'drizzle-orm'
import { records } from '../../src/all-features.ts'
import { events } from '../../src/events/table.ts'
import type { Link } from '../../src/features/links/schema.ts'
import { paths } from '../../src/paths.ts'
import { projectColumn } from '../../src/records/kind.ts'
import { kindInfo, type RecordName, recordNames, recordPathIn } from '../../src/records/names.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { type MadeRecord, oneOfEach, titled } from '../support/records.ts'
import { indexed, newWord, search } from './search-support.ts'

/** Loops over the registry: what a kind says about itself in its feature's record.ts must hold in a running server. */
let t: TestApp
let ada: Person
let stranger: Person
/** One record of each kind. Its title contains `word`. */
let made: Record<RecordName, MadeRecord>
const word = newWord()

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  stranger = await person(t)
  made = await oneOfEach(ada, { words: titled(word) })
}, 300_000)

const kinds = records.all.map((record) => [record.kind, record] as const)
const link = (who: Person, type: RecordName) => {
  const to = type === 'project' ? 'note' : 'project'
  return who.fetch<Link>('POST', '/api/links', { fromType: type, fromId: made[type].id, toType: to, toId: made[to].id })
}

test('the list of names marks the kinds that search finds', () => {
  expect(records.all.filter(({ search }) => search).map(({ kind }) => kind)).toEqual(
    records.all.filter(({ kind }) => kindInfo(kind).searchable).map(({ kind }) => kind),
  )
})

test('a kind whose records may belong to no organization defines their owner', () => {
  expect(records.all.filter(({ ownerId }) => ownerId).map(({ kind }) => kind)).toEqual(
    records.all.filter(({ table }) => !table.organizationId.notNull).map(({ kind }) => kind),
  )
})

test('search finds every kind marked for it, for people who see it, and each has a dashboard page', async () => {
  await indexed(t)
  const { items } = await search(ada, word)
  expect(items.flatMap((group) => group.items.map(({ id }) => [group.kind, id] as string[])).toSorted()).toEqual(
    kinds.flatMap(([kind, record]) => (record.search ? [[kind, made[kind].id]] : [])).toSorted(),
  )
  expect((await search(stranger, word)).items).toEqual([])
  // A result leads to the API's path without `/api` (src/web/record-address.ts).
  const pages = paths.map((path) => new RegExp(`^/api${path.replaceAll(/:\w+/g, '[^/]+')}$`))
  const found = items.flatMap((group) => group.items)
  expect(
    found
      .filter(({ path }) => !pages.some((page) => page.test(path)))
      .map(({ kind, path }) => `${kind}: results lead to ${path}, so add a page there to src/paths.ts`),
  ).toEqual([])
})

test('the address of each kind with a path has a dashboard page that names one record', () => {
  const withPath = recordNames.flatMap((kind) => kindInfo(kind).path ?? [])
  expect(withPath).toContain('/repos')
  expect(withPath.filter((path) => !paths.some((page) => page.replace(/:\w+$/, ':') === `${path}/:`))).toEqual([])
  expect(withPath.map((path) => recordPathIn(`${path}/one/more`))).toEqual(withPath.map((path) => `${path}/one`))
  expect(['/', '/tasks', '/settings/keys', '/admin/users/1'].map(recordPathIn)).toEqual(Array(4).fill(undefined))
})

test.each(kinds)('events about a record of kind %s belong to its team and its project', async (kind, record) => {
  const projectId = projectColumn(record)
  const columns = { organizationId: record.table.organizationId, ...(projectId && { projectId }) }
  const [row] = await t.app.db.select(columns).from(record.table).where(eq(record.table.id, made[kind].id))
  const found = await t.app.db
    .select({ organizationId: events.organizationId, projectId: events.projectId })
    .from(events)
    .where(eq(events.subjectId, made[kind].id))
  expect(found).not.toEqual([])
  for (const event of found) expect<object>(event).toEqual({ projectId: null, ...row })
})

describe('a link', () => {
  test.each(kinds)('to a record of kind %s shows its title and its address', async (kind) => {
    const { status, body } = await link(ada, kind)
    expect(status).toBe(201)
    // A link without a direction may be stored either way round.
    const end = [body.from, body.to].find(({ id }) => id === made[kind].id)
    if (kindInfo(kind).searchable) expect(end?.title).toContain(word)
    const read = await ada.fetch('GET', `/api${end?.path}`)
    expect(read).toMatchObject({ status: 200, body: { id: made[kind].id } })
  })

  test.each(kinds)('to a record of kind %s needs the right to see it', async (kind) => {
    expect((await link(stranger, kind)).status).toBe(404)
  })
})

test('every resource is listed among the templates and can be read, and no others are', async () => {
  const client = new mcp.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const headers = { authorization: `Bearer ${await mcpToken(t, ada)}` }
  await client.connect(new mcp.StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), { requestInit: { headers } }))
  const { resourceTemplates } = await client.listResourceTemplates()
  const offered = records.all.filter(({ resource }) => resource)
  expect(resourceTemplates.map(({ name, title }) => [name, title])).toEqual(
    offered.map(({ kind, resource }) => [kind, resource?.title]),
  )
  // Other tests read the registry, so only this would notice that a kind is no longer a resource.
  expect(resourceTemplates).toMatchSnapshot()
  for (const { kind } of records.all) {
    const uri = `tutti://${kind}/${made[kind].id}`
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
