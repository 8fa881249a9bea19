import { beforeAll, describe, expect, test } from 'bun:test'
import type { Decision, DecisionDetail, DecisionLogged, DecisionPage } from '../../src/features/decisions/schema.ts'
import { factsOf, ways } from '../mcp/support.ts'
import { type Answer, mcpToken, member, type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { expectEvents, expectRefusal, ids, statuses, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let grace: Person
let viewer: Person
let stranger: Person
let project: string
beforeAll(async () => {
  t = watch(await sharedApp())
  ada = await person(t)
  grace = await member(t, ada, 'member')
  viewer = await member(t, ada, 'viewer', 'Barbara')
  stranger = await person(t)
  project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body.id
})

const log = (who: Person, more: Record<string, unknown> = {}): Promise<Answer<DecisionLogged>> =>
  who.fetch('POST', '/api/decisions', {
    title: unique('Lock'),
    decision: 'We hold flock.',
    projectId: project,
    ...more,
  })
const made = async (more: Record<string, unknown> = {}): Promise<DecisionLogged> => (await log(ada, more)).body
const get = async (id: string): Promise<DecisionDetail> =>
  (await ada.fetch<DecisionDetail>('GET', `/api/decisions/${id}`)).body
const patch = (id: string, body: object, who = ada, headers = {}): Promise<Answer<Decision>> =>
  who.fetch('PATCH', `/api/decisions/${id}`, body, headers)

describe('logging a decision', () => {
  test('is refused in an archived project, and lists of decisions and specs report that', async () => {
    const { body } = await ada.fetch<{ id: string; slug: string }>('POST', '/api/projects', { name: unique('Old') })
    await ada.fetch('POST', `/api/projects/${body.id}/archive`)
    const refused = await expectRefusal(t, await log(ada, { projectId: body.id }), 409, 'conflict')
    for (const ref of [body.id, body.slug])
      for (const kind of ['decisions', 'specs']) {
        const list = await ada.fetch<DecisionPage>('GET', `/api/${kind}?projectId=${ref}`)
        expect([kind, ref, list.body.can?.create]).toEqual([kind, ref, { code: 'conflict', detail: refused.detail }])
      }
    await ada.fetch('POST', `/api/projects/${body.id}/restore`)
    expect((await log(ada, { projectId: body.id })).status).toBe(201)
  })

  test('records the author, and accepts the decision by default', async () => {
    const answer = await log(ada, {
      title: '  Lock the folder  ',
      context: 'Two servers on one folder.',
      rationale: 'The kernel drops it.',
      alternatives: ['A lock file', { option: 'A port', pros: 'Known', cons: 'Taken by others' }],
      tags: ['storage'],
    })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(`/api/decisions/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      title: 'Lock the folder',
      status: 'accepted',
      author: { type: 'user', id: ada.userId, name: 'Ada Lovelace' },
      alternatives: [{ option: 'A lock file' }, { option: 'A port', pros: 'Known', cons: 'Taken by others' }],
      supersedes: null,
      supersededById: null,
      outcome: null,
      version: 1,
    })
    const [event] = await expectEvents(t, answer, 'decision.logged')
    expect(event).toMatchObject({ subjectId: answer.body.id, projectId: project, data: { title: 'Lock the folder' } })
  })

  test('without a project makes it a decision of the whole team', async () => {
    const { id } = await made({ projectId: undefined })
    expect((await get(id)).projectId).toBeNull()
    expect((await viewer.fetch('GET', `/api/decisions/${id}`)).status).toBe(200)
    expect((await stranger.fetch('GET', `/api/decisions/${id}`)).status).toBe(404)
  })

  test('in a private project shows it only to people who see the project', async () => {
    const secret = (
      await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Secret'), visibility: 'private' })
    ).body.id
    const title = unique('Zanzibar')
    const { id } = await made({ projectId: secret, title })
    expect((await grace.fetch('GET', `/api/decisions/${id}`)).status).toBe(404)
    expect((await grace.fetch<DecisionPage>('GET', `/api/decisions?search=${title}`)).body.items).toEqual([])
    expect(
      (await grace.fetch<DecisionLogged>('POST', '/api/decisions', { title, decision: 'x' })).body.similar,
    ).toEqual([])
    expect((await ada.fetch('GET', `/api/decisions/${id}`)).status).toBe(200)
  })

  test('names earlier similar decisions of the project and the team that still hold', async () => {
    const word = unique('quaternion').replaceAll('-', '')
    const team = await made({ projectId: undefined, title: `Storage of ${word} numbers` })
    const old = await made({ title: `Storage of ${word} numbers, first try` })
    const here = await made({ title: `${word} storage`, supersedes: old.id })
    const elsewhere = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Other') })).body.id
    await made({ projectId: elsewhere, title: `Storage of ${word} numbers` })
    const { similar } = await made({ title: `How ${word} numbers are kept in storage` })
    expect(similar.map((d) => d.id).sort()).toEqual([team.id, here.id].sort())
    // One common word is not enough.
    expect(
      (await made({ title: `Numbers ${unique('a')} ${unique('b')} ${unique('c')} ${unique('d')}` })).similar,
    ).toEqual([])
  })

  test('refuses wrong values and names the field', async () => {
    for (const [body, pointer] of [
      [{ title: ' ' }, '/title'],
      [{ decision: '' }, '/decision'],
      [{ status: 'superseded' }, '/status'],
      [{ status: 'rejected' }, '/status'],
      [{ supersedes: 'x' }, '/supersedes'],
      [{ supersededById: ada.userId }, '/supersededById'],
      [{ alternatives: [{ pros: 'x' }] }, '/alternatives/0/option'],
      [{ tags: ['a', 'a'] }, '/tags'],
    ] as const) {
      const { errors } = await expectRefusal(t, await log(ada, body), 422, 'invalid')
      expect(errors?.[0]?.pointer).toBe(pointer)
    }
  })
})

test('a comment notifies the people it mentions who see the decision', async () => {
  const handle = async (who: Person) => (await who.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle
  const secret = (
    await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Secret'), visibility: 'private' })
  ).body.id
  const mentions = async (who: Person) =>
    (await who.fetch<{ items: { reason: string; link: string }[] }>('GET', '/api/notifications')).body.items
      .filter((n) => n.reason === 'mention')
      .map((n) => n.link)
  const [open, team, hidden] = [await made(), await made({ projectId: undefined }), await made({ projectId: secret })]
  const body = `What do you say, @${await handle(grace)}? And @${await handle(stranger)}, @${await handle(ada)}?`
  for (const { id } of [open, team, hidden])
    expect((await ada.fetch('POST', `/api/decisions/${id}/comments`, { body })).status).toBe(201)
  const { slug } = (await ada.fetch<{ slug: string }>('GET', '/api/team')).body
  expect((await mentions(grace)).sort()).toEqual([open, team].map(({ id }) => `/decisions/${id}?team=${slug}`).sort())
  for (const who of [stranger, ada]) expect(await mentions(who)).toEqual([])
})

describe('superseding a decision', () => {
  test('replaces the earlier one in the same step, and only once', async () => {
    const old = await made()
    const answer = await log(grace, { supersedes: old.id })
    await expectEvents(t, answer, 'decision.logged', 'decision.superseded')
    expect(await get(old.id)).toMatchObject({ status: 'superseded', supersededById: answer.body.id, version: 2 })
    expect(answer.body).toMatchObject({ status: 'accepted', supersedes: old.id })

    const again = await expectRefusal(t, await log(ada, { supersedes: old.id }), 409, 'conflict')
    expect(again.detail).toContain(answer.body.id)
    expect((await expectRefusal(t, await patch(old.id, { status: 'accepted' }), 409, 'conflict')).detail).toContain(
      answer.body.id,
    )
    // The newer one can be replaced in turn.
    expect((await log(ada, { supersedes: answer.body.id })).status).toBe(201)
  })

  test('succeeds for one of ten simultaneous attempts', async () => {
    const old = await made()
    const answers = await Promise.all(times(10, () => log(ada, { supersedes: old.id })))
    expect(statuses(answers)).toEqual([201, ...times(9, () => 409)])
    const winner = answers.find((a) => a.status === 201)?.body.id
    expect(await get(old.id)).toMatchObject({ status: 'superseded', supersededById: winner as string, version: 2 })
  })

  test('with a proposal takes effect when the proposal is accepted', async () => {
    const old = await made()
    const next = await made({ status: 'proposed', supersedes: old.id })
    expect(await get(old.id)).toMatchObject({ status: 'accepted', supersededById: null, version: 1 })
    const accepted = await patch(next.id, { status: 'accepted' })
    expect(accepted.body).toMatchObject({ status: 'accepted', version: 2 })
    await expectEvents(t, accepted, 'decision.updated', 'decision.superseded')
    expect(await get(old.id)).toMatchObject({ status: 'superseded', supersededById: next.id })
    // Back and forth does not supersede twice.
    await patch(next.id, { status: 'rejected' })
    expect((await patch(next.id, { status: 'accepted' })).status).toBe(200)
    expect(await get(old.id)).toMatchObject({ version: 2 })
  })

  test('is refused for the second of two accepted proposals', async () => {
    const old = await made()
    const [a, b] = [
      await made({ status: 'proposed', supersedes: old.id }),
      await made({ status: 'proposed', supersedes: old.id }),
    ]
    expect((await patch(a.id, { status: 'accepted' })).status).toBe(200)
    await expectRefusal(t, await patch(b.id, { status: 'accepted' }), 409, 'conflict')
    expect(await get(b.id)).toMatchObject({ status: 'proposed', version: 1 })
  })
})

describe('a decision', () => {
  test('keeps comments in order, with their authors', async () => {
    const { id } = await made()
    const answer = await grace.fetch('POST', `/api/decisions/${id}/comments`, {
      body: 'What about network file systems?',
    })
    expect(answer.status).toBe(201)
    await expectEvents(t, answer, 'decision.commented')
    await ada.fetch('POST', `/api/decisions/${id}/comments`, { body: 'Refused at start.' })
    const { discussion, version } = await get(id)
    expect(discussion.map((c) => [c.author.name, c.body])).toEqual([
      ['Grace Hopper', 'What about network file systems?'],
      ['Ada Lovelace', 'Refused at start.'],
    ])
    // A comment is no change of what was decided.
    expect(version).toBe(1)
  })

  test('is changed at the version that was read; of two simultaneous changes one is refused', async () => {
    const { id } = await made()
    const answer = await patch(id, { outcome: 'No damage since.', rationale: null }, grace, { 'if-match': '"1"' })
    expect(answer.body).toMatchObject({ outcome: 'No damage since.', rationale: null, version: 2 })
    const refused = await expectRefusal(
      t,
      await patch(id, { outcome: 'x' }, ada, { 'if-match': '"1"' }),
      412,
      'version_mismatch',
    )
    expect(refused.current).toMatchObject({ id, version: 2, outcome: 'No damage since.' })
    const both = await Promise.all(times(2, (i) => patch(id, { title: `Title ${i}` }, ada, { 'if-match': '"2"' })))
    expect(statuses(both)).toEqual([200, 412])
  })
})

describe('GET /api/decisions', () => {
  test('filters by project, status, tag and words, page by page, without bodies', async () => {
    const own = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Lists') })).body.id
    const long = 'x '.repeat(200)
    const word = unique('zebra').replaceAll('-', '')
    const all = [
      await made({ projectId: own, title: `First ${word}`, decision: long, tags: ['a'] }),
      await made({ projectId: own, status: 'proposed', tags: ['b'] }),
      await made({ projectId: own }),
    ]
    const list = async (query: string) =>
      (await viewer.fetch<DecisionPage>('GET', `/api/decisions?projectId=${own}${query}`)).body
    expect(ids(await list(''))).toEqual(all.map((d) => d.id).sort())
    expect(ids(await list('&status=proposed'))).toEqual([all[1]?.id as string])
    expect(ids(await list('&tag=a'))).toEqual([all[0]?.id as string])
    const [found] = (await list(`&search=${word}`)).items
    expect(found).toMatchObject({ id: all[0]?.id as string, author: { name: 'Ada Lovelace' } })
    expect(found?.excerpt).toHaveLength(160)
    expect(found).not.toHaveProperty('decision')

    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await list(`&limit=1&total=true${cursor}`)
      expect(page.total).toBe(3)
      seen.push(...page.items.map((d) => d.id))
      if (!page.nextCursor) break
      cursor = `&cursor=${page.nextCursor}`
    }
    expect(seen).toEqual(all.map((d) => d.id).reverse())
    expect((await stranger.fetch<DecisionPage>('GET', `/api/decisions?projectId=${own}`)).body.items).toEqual([])
  })
})

describe('an agent', () => {
  test('logs, finds, discusses and closes decisions by the beginning of an id', async () => {
    const agent = (await ada.fetch<{ id: string }>('POST', '/api/agents', { name: 'Builder', scope: 'team' })).body.id
    const token = await mcpToken(t, ada, { projectId: project, agentId: agent })
    const client = (await ways['v2 client, HTTP 2026-07-28']?.(t.url, token)) as NonNullable<
      Awaited<ReturnType<(typeof ways)[string]>>
    >
    const use = async (name: string, args: Record<string, unknown>) =>
      factsOf<DecisionLogged & DecisionPage & DecisionDetail>(await client.call(name, args))
    const word = unique('okapi').replaceAll('-', '')
    const old = await use('log_decision', { title: `Keep ${word} files`, decision: 'In a folder.' })
    expect(await get(old.id)).toMatchObject({
      projectId: project,
      author: { type: 'agent', id: agent, name: 'Builder' },
    })
    const { id, similar } = await use('log_decision', {
      title: `Keep ${word} files in the database`,
      decision: 'One place.',
      alternatives: '["A folder", {"option": "A bucket", "cons": "Needs a network"}]',
      supersedes: old.id,
    })
    expect(similar ?? []).toEqual([])
    expect(await get(old.id)).toMatchObject({
      status: 'superseded',
      supersededById: expect.stringContaining(id),
    })
    expect((await get(id)).alternatives).toEqual([
      { option: 'A folder' },
      { option: 'A bucket', cons: 'Needs a network' },
    ])

    expect((await use('list_decisions', { query: word })).items).toBeArrayOfSize(2)
    expect((await use('list_decisions', { query: word, status: 'accepted' })).items).toMatchObject([{ id }])

    const before = await get(id)
    await use('get_decision', { decision: id })
    expect(await get(id)).toEqual(before)
    const said = { decision: id, comment: 'It held.', outcome: 'Backups are one file.' }
    // Said once, though sent twice. The decision itself is not sent back.
    for (const _ of ['first', 'again'])
      expect(await client.call('log_decision', { ...said, idempotencyKey: word })).toMatchObject({
        structuredContent: { id, added: ['comment', 'outcome'] },
      })
    const after = await get(id)
    expect(after).toMatchObject({ outcome: said.outcome, version: 2, discussion: [{ body: 'It held.' }] })
    expect(after.title).toBe(before.title)

    const refused = async (args: object) => (await client.call('log_decision', { ...args })).content[0]?.text
    expect(await refused({ decision: 'x' })).toContain('Send title to log a new decision, or comment or outcome')
    expect(await refused({ ...said, title: 'Another' })).toContain('Send title only for a new decision')
    expect(await refused({ ...said, decision: 'One place.' })).toStartWith('not_found: ')
    expect(await get(id)).toEqual(after)

    // The form that is no longer listed.
    expect(await use('get_decision', { decision: id, comment: 'Still.' })).toMatchObject({ outcome: said.outcome })
    expect((await get(id)).discussion).toMatchObject([{ body: 'It held.' }, { body: 'Still.' }])
    await client.close()
  })
})
