import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Message } from '../../src/features/assistant/schema.ts'
import type {
  PullOpened,
  Repository,
  RepositoryDetail,
  RepositoryPage,
} from '../../src/features/repositories/schema.ts'
import { saveTokenStep } from '../../src/outside/codehosts/host-address.ts'
import type { Hosted } from '../../src/outside/codehosts/schema.ts'
import { ways } from '../mcp/support.ts'
import { logged, mcpToken, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { type FakeCodeHost, type FakeRepository, fakeRepositoryHost, SHA } from '../support/code-host.ts'
import { expectEvent, expectEvents, expectNoEvents, expectRefusal, watch } from './support.ts'

/** Repositories at the operator's own code host, which is on loopback: one app for each kind of host, the same behaviour at all. */
const kinds = ['github', 'gitea', 'gitlab'] as const
const at = (provider: string) => `/api/settings/integrations/user/${provider}`
const connectMcp = ways['v2 client, HTTP 2025'] as (typeof ways)[string]
const TOKEN = 'pat_averysecrettokenofadas1234'

interface Setup {
  t: TestApp
  host: FakeCodeHost
}
const setups = new Map<string, Setup>()
beforeAll(async () => {
  for (const kind of kinds) {
    const host = fakeRepositoryHost(kind)
    const operator = { CODEHOST_CLIENT_ID: 'operator-id', CODEHOST_CLIENT_SECRET: 'operator-hush-hush' }
    setups.set(kind, { host, t: watch(await testApp({ ...host.settings, ...operator })) })
  }
})
afterAll(async () => {
  for (const { t } of setups.values()) await t.close()
})

/** Everything that the hosts were sent may hold this, and nothing else that is secret. */
const save = async (who: Person, provider: string, secret = `${TOKEN}${unique('x').replaceAll('-', '')}`) => {
  const { host } = setups.get(provider) as Setup
  host.tokens.add(secret)
  expect((await who.fetch('PUT', at(provider), { secret })).status).toBe(200)
  return secret
}
const pathOf = ({ provider }: FakeCodeHost) =>
  provider === 'gitlab' ? '/-/merge_requests' : provider === 'gitea' ? '/pulls' : '/pull'

describe.each(kinds)('a repository at %s', (kind) => {
  let t: TestApp
  let host: FakeCodeHost
  let ada: Person
  let slug: string
  let there: FakeRepository
  beforeEach(async () => {
    ;({ t, host } = setups.get(kind) as Setup)
    host.fault = undefined
    host.asked.length = 0
    ada = await person(t)
    slug = `${unique('tutti')}/engine`
    there = host.add(slug)
  })
  const connect = async (who: Person, body: object = {}) =>
    who.fetch<Repository>('POST', '/api/repos', { repo: slug, ...body })

  test('has files that answer questions, with the user’s own token and at the synced commit', async () => {
    there.private = true
    there.branches.set(
      'main',
      new Map([
        ['README.md', '# Engine\n'],
        ['docs/locking.md', `${'padding\n'.repeat(70)}The folder is locked by one process.\n`],
        ['src/big.bin', 'x'.repeat(70_000)],
      ]),
    )
    await save(ada, kind)
    const { body: repository } = await connect(ada)
    const path = `/api/repos/${repository.id}/chat`
    const answer = await ada.fetch<Message>('POST', path, { prompt: 'What does locking.md say about the folder?' })
    expect([answer.status, answer.body.status]).toEqual([201, 'no_model'])
    const [first] = answer.body.sources
    expect(first).toMatchObject({ kind: 'file', path: 'docs/locking.md', lines: '61-72', commit: SHA })
    const lines = { github: '/blob/', gitea: '/src/commit/', gitlab: '/-/blob/' }[kind]
    expect(first?.url).toStartWith(`${host.url}/${slug}${lines}${SHA}/docs/locking.md#L61-`)
    expect(answer.body.sources.some(({ path: file }) => file === 'src/big.bin')).toBe(false)
    // Once more, in the same chat: what was read is still known.
    host.asked.length = 0
    const again = { prompt: 'And the folder in locking.md?', sessionId: answer.body.sessionId }
    expect((await ada.fetch<Message>('POST', path, again)).status).toBe(201)
    expect(host.asked).toEqual([])
    const messages = `/api/ai/sessions/${answer.body.sessionId}/messages`
    await expectRefusal(
      t,
      await ada.fetch('POST', messages, { content: 'x', paths: ['../etc/passwd'] }),
      422,
      'invalid',
    )
    // A colleague sees the repository here, but has no token for its host.
    const grace = await member(t, ada, 'member')
    const refused = await expectRefusal(t, await grace.fetch('POST', path, { prompt: 'folder?' }), 403, 'forbidden')
    expect(refused.next).toEqual([saveTokenStep(kind)])
    await expectRefusal(t, await grace.fetch('POST', path, again), 404, 'not_found')
  })

  test('is connected and read without a token if it is public', async () => {
    there.pulls.push({
      number: 3,
      title: 'Lock\u202e it',
      head: 'lock',
      base: 'main',
      open: true,
      body: '',
      reviewers: [],
    })
    const made = await connect(ada)
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/repos/${made.body.id}`)
    const url = `${host.url}/${slug}`
    expect(made.body).toMatchObject({
      provider: kind,
      owner: slug.split('/')[0],
      name: 'engine',
      url,
      projectId: null,
      organizationId: ada.organizationId,
      private: false,
      defaultBranch: 'main',
      branches: ['main', 'lock'],
      commitSha: SHA,
      lastCommit: { sha: SHA, title: 'Lock the data folder', author: 'Ada Lovelace', at: '2026-11-01T12:00:00.000Z' },
      language: 'TypeScript',
      topics: ['agents', 'mcp'],
      pullRequests: [
        { number: 3, title: 'Lock it', head: 'lock', base: 'main', author: 'ada', url: `${url}${pathOf(host)}/3` },
      ],
      status: 'ready',
      error: null,
    })
    expect(made.body).not.toHaveProperty('host')
    expect(await expectEvent(t, made, 'repository.connected')).toMatchObject({
      subjectId: made.body.id,
      data: { url, status: 'ready' },
    })
    expect(host.asked.every(({ headers }) => !headers.has('authorization'))).toBe(true)
    expect((await ada.fetch<RepositoryDetail>('GET', `/api/repos/${made.body.id}`)).body).toEqual({
      ...made.body,
      can: { sync: true, remove: true },
    })
  })

  test('is connected by any of its names, and once for a project', async () => {
    const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body
    const [port] = host.url.split(':').slice(-1)
    const first = (await connect(ada, { projectId: project.id })).body
    const names = [
      slug,
      `${host.url}/${slug}`,
      `${host.url}/${slug}.git`,
      `${host.url}/${slug}/-/tree/main`,
      `git@127.0.0.1:${slug}.git`,
    ]
    for (const repo of [...names, `ssh://git@127.0.0.1:22/${slug}.git`, `127.0.0.1:${port}/${slug}`]) {
      const again = await ada.fetch<Repository>('POST', '/api/repos', { repo, projectId: project.id })
      expect([repo, again.status, again.body.id]).toEqual([repo, 201, first.id])
      await expectEvent(t, again, 'repository.synced')
    }
    const ofTeam = (await connect(ada)).body
    expect(ofTeam.id).not.toBe(first.id)
    const list = async (query: string) => (await ada.fetch<RepositoryPage>('GET', `/api/repos${query}`)).body
    expect((await list('?total=true')).total).toBe(2)
    expect((await list(`?projectId=${project.id}`)).items.map(({ id }) => id)).toEqual([first.id])
    expect((await list('?status=error')).items).toEqual([])
    expect((await list('')).items[0]).not.toHaveProperty('branches')
  })

  test('is connected once by two simultaneous calls', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => connect(ada)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await ada.fetch<RepositoryPage>('GET', '/api/repos')).body.items).toHaveLength(1)
  })

  test('that is private needs the caller’s own token, which is sent only to its host and never shown', async () => {
    there.private = true
    const stranger = await expectRefusal(t, await connect(ada), 404, 'not_found')
    expect(stranger.next).toEqual([saveTokenStep(kind)])
    const secret = await save(ada, kind)
    host.asked.length = 0
    const made = await connect(ada)
    expect(made.body).toMatchObject({ private: true, status: 'ready' })
    expect(host.asked.length).toBeGreaterThan(3)
    for (const { headers } of host.asked)
      expect(headers.get('authorization')).toBe(kind === 'gitea' ? `token ${secret}` : `Bearer ${secret}`)
    expect(JSON.stringify(made.body)).not.toContain(secret)
    // A colleague sees what is kept here, but cannot ask the host with somebody else's token.
    const grace = await member(t, ada, 'member')
    expect((await grace.fetch('GET', `/api/repos/${made.body.id}`)).status).toBe(200)
    const tried = await grace.fetch('POST', `/api/repos/${made.body.id}/sync`)
    expect(tried).toMatchObject({ status: 404, body: { code: 'not_found' } })
    await expectEvents(t, tried, 'repositories.begin', 'repositories.finish')
    expect((await ada.fetch<Repository>('GET', `/api/repos/${made.body.id}`)).body).toMatchObject({
      status: 'ready',
      error: null,
    })
    expect(logged.join('\n')).not.toContain(secret)
    const { rows } = await t.app.driver.query('select data::text from events where subject_id = $1', [made.body.id])
    expect(JSON.stringify(rows)).not.toContain(secret)
  })

  test('is not read with a token that was disabled or saved for another host', async () => {
    there.private = true
    const secret = await save(ada, kind)
    await ada.fetch('PUT', at(kind), { settings: { enabled: false } })
    await expectRefusal(t, await connect(ada), 404, 'not_found')
    await ada.fetch('PUT', at(kind), { secret, settings: { enabled: true, url: 'https://git.example.com' } })
    await expectRefusal(t, await connect(ada), 404, 'not_found')
    expect(host.asked.filter(({ headers }) => headers.has('authorization'))).toEqual([])
    await ada.fetch('PUT', at(kind), { secret, settings: { url: `${host.url}/` } })
    expect((await connect(ada)).status).toBe(201)
  })

  test('reports a token that the host refuses, with the permissions it needs', async () => {
    await save(ada, kind)
    host.tokens.clear()
    const { detail } = await expectRefusal(t, await connect(ada), 403, 'forbidden')
    expect(detail).toContain('refuses your token')
    expect(detail).toContain({ github: 'the scope repo', gitea: 'write:repository', gitlab: 'the scope api' }[kind])
    expect(detail).toContain('Bad credentials')
    expect((await ada.fetch<RepositoryPage>('GET', '/api/repos')).body.items).toEqual([])
  })

  test('is listed among those that the token can read', async () => {
    await expectRefusal(t, await ada.fetch('GET', `/api/repos/github?provider=${kind}`), 403, 'forbidden')
    await save(ada, kind)
    there.private = true
    const { status, body } = await ada.fetch<{ items: Hosted[] }>('GET', `/api/repos/github?provider=${kind}`)
    expect(status).toBe(200)
    expect(body.items.find(({ url }) => url === `${host.url}/${slug}`)).toEqual({
      provider: kind,
      owner: slug.split('/')[0] as string,
      name: 'engine',
      url: `${host.url}/${slug}`,
      private: true,
      defaultBranch: 'main',
    })
  })

  test('takes over changes by a sync, page by page and within limits', async () => {
    const { id } = (await connect(ada)).body
    there.defaultBranch = 'trunk'
    there.branches = new Map([
      ...Array.from({ length: 260 }, (_, i) => [`b${i}`, new Map()] as const),
      ['trunk', new Map()],
    ])
    there.language = null
    there.topics = []
    there.pulls = Array.from({ length: 70 }, (_, i) => ({
      number: i + 1,
      title: `${i}`,
      head: 'b1',
      base: 'trunk',
      open: i > 2,
      body: '',
      reviewers: [],
    }))
    host.asked.length = 0
    const synced = await ada.fetch<Repository>('POST', `/api/repos/${id}/sync`)
    expect(synced.status).toBe(200)
    await expectEvents(t, synced, 'repositories.begin', 'repository.synced')
    expect(synced.body).toMatchObject({ defaultBranch: 'trunk', topics: [], status: 'ready', commitSha: SHA })
    expect(synced.body.branches).toHaveLength(200)
    expect(synced.body.pullRequests).toHaveLength(50)
    expect(host.asked.length).toBeLessThan(10)
  })

  test('can be empty', async () => {
    there.branches.clear()
    expect((await connect(ada)).body).toMatchObject({
      branches: [],
      commitSha: null,
      lastCommit: null,
      status: 'ready',
    })
    await save(ada, kind)
    const { id } = (await connect(ada)).body
    await expectRefusal(
      t,
      await ada.fetch('POST', `/api/repos/${id}/pulls`, { title: 'x', head: 'lock' }),
      409,
      'conflict',
    )
  })

  test('gets a pull request once, with the caller’s token, linked to its feature', async () => {
    const project = (await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Engine') })).body
    const feature = (await ada.fetch<{ id: string }>('POST', `/api/projects/${project.id}/features`, { title: 'Lock' }))
      .body
    const { id } = (await connect(ada, { projectId: project.id })).body
    const wanted = {
      title: 'Lock the data folder',
      head: 'lock',
      description: 'As decided.',
      reviewers: ['grace'],
      featureId: feature.id,
    }
    const missing = await expectRefusal(t, await ada.fetch('POST', `/api/repos/${id}/pulls`, wanted), 403, 'forbidden')
    expect(missing.detail).toContain(`You have no token saved for ${new URL(host.url).host}.`)
    expect(missing.next).toEqual([saveTokenStep(kind)])
    expect(there.pulls).toEqual([])
    await save(ada, kind)
    const opened = await ada.fetch<PullOpened>('POST', `/api/repos/${id}/pulls`, wanted)
    expect(opened.status).toBe(200)
    const url = `${host.url}/${slug}${pathOf(host)}/1`
    expect(opened.body).toMatchObject({
      repositoryId: id,
      featureId: feature.id,
      number: 1,
      url,
      base: 'main',
      existed: false,
      warning: null,
    })
    expect(await expectEvent(t, opened, 'pull_request.opened')).toMatchObject({
      subjectId: id,
      data: { url, number: 1, featureId: feature.id },
    })
    expect(there.pulls).toMatchObject([
      { title: 'Lock the data folder', head: 'lock', base: 'main', body: 'As decided.' },
    ])
    expect(there.pulls[0]?.reviewers).toEqual([kind === 'gitlab' ? '42' : 'grace'])
    const again = await ada.fetch<PullOpened>('POST', `/api/repos/${id}/pulls`, { title: 'Other words', head: 'lock' })
    expect(again.body).toMatchObject({
      id: opened.body.id,
      number: 1,
      existed: true,
      featureId: feature.id,
      title: 'Lock the data folder',
    })
    await expectEvent(t, again, 'pull_request.found')
    expect(there.pulls).toHaveLength(1)
    expect((await ada.fetch('GET', `/api/features/${feature.id}`)).body.pullRequests).toEqual([
      { number: 1, title: 'Lock the data folder', url },
    ])
  })

  test('reports why a pull request failed; reviewers that cannot be asked do not stop it', async () => {
    await save(ada, kind)
    const { id } = (await connect(ada)).body
    const open = (body: object) =>
      ada.fetch<PullOpened>('POST', `/api/repos/${id}/pulls`, { title: 'x', head: 'lock', ...body })
    await expectRefusal(t, await open({ head: 'unknown' }), 409, 'conflict')
    await expectRefusal(t, await open({ head: 'main' }), 422, 'invalid')
    expect(there.pulls).toEqual([])
    const opened = await open({ reviewers: ['nobody'] })
    expect(opened.status).toBe(200)
    expect(opened.body.warning).toContain('requesting its reviewers failed')
  })

  test('is removed by any member, and can be connected again', async () => {
    const { id } = (await connect(ada)).body
    const grace = await member(t, ada, 'member')
    const gone = await grace.fetch('DELETE', `/api/repos/${id}`)
    expect(gone.body).toEqual({ id, deleted: true })
    await expectEvent(t, gone, 'repository.removed')
    await expectRefusal(t, await ada.fetch('GET', `/api/repos/${id}`), 404, 'not_found')
    // It can be connected anew.
    expect((await connect(ada)).body.id).not.toBe(id)
  })

  test('of a private project is as private as the project', async () => {
    const project = (
      await ada.fetch<{ id: string }>('POST', '/api/projects', { name: unique('Secret'), visibility: 'private' })
    ).body
    const grace = await member(t, ada, 'member')
    const { id } = (await connect(ada, { projectId: project.id })).body
    expect((await grace.fetch<RepositoryPage>('GET', '/api/repos')).body.items).toEqual([])
    await expectRefusal(t, await grace.fetch('GET', `/api/repos/${id}`), 404, 'not_found')
    await expectRefusal(t, await connect(grace, { projectId: project.id }), 404, 'not_found')
    await ada.fetch('DELETE', `/api/projects/${project.id}`)
    await expectRefusal(t, await ada.fetch('GET', `/api/repos/${id}`), 404, 'not_found')
  })
})

describe('connecting a repository is refused', () => {
  test.each([
    ['owner', 'format'],
    ['owner/..', 'format'],
    ['../etc/passwd', 'format'],
    ['owner/na me', 'format'],
    ['ftp://github.com/a/b', 'format'],
    ['https://github.com/', 'format'],
    ['https://github.com/a', 'format'],
    ['file:///etc/passwd', 'format'],
    ['https://evil.example/a/b', 'invalid'],
    ['http://169.254.169.254/latest/meta-data', 'invalid'],
    ['https://github.com.evil.example/a/b', 'invalid'],
    ['git@evil.example:a/b.git', 'invalid'],
    ['https://ada:hush-hush-hush@github.com/a/b', 'format'],
  ])('with %s', async (repo, code) => {
    const { t, host } = setups.get('github') as Setup
    host.asked.length = 0
    const ada = await person(t)
    const answer = await ada.fetch('POST', '/api/repos', { repo })
    const problem = await expectRefusal(t, answer, 422, 'invalid')
    expect(problem.errors).toMatchObject([{ pointer: '/repo', code }])
    expect(JSON.stringify(problem)).not.toContain('hush')
    await expectNoEvents(t, answer)
    expect(host.asked).toEqual([])
  })
})

test('the MCP token is not sent to code hosts; an agent uses its user’s token or none', async () => {
  const { t, host } = setups.get('github') as Setup
  const ada = await person(t)
  const slug = `${unique('tutti')}/engine`
  host.add(slug, { private: true })
  const secret = await save(ada, 'github')
  const token = await mcpToken(t, ada)
  host.asked.length = 0
  const client = await connectMcp(t.url, token)
  const use = (name: string, args: Record<string, unknown>) => client.call(name, args)
  const connected = await use('connect_repo', { repo: slug })
  expect(connected.isError).toBeUndefined()
  for (const [name, args] of [
    ['sync_repo', { repo: slug }],
    ['create_pr', { repo: slug, title: 'Lock', head: 'lock' }],
    ['list_repos', {}],
  ] as const)
    expect([name, (await use(name, args)).isError]).toEqual([name, undefined])
  expect(host.asked.length).toBeGreaterThan(8)
  const sent = JSON.stringify(
    host.asked.map(({ path, query, headers, body }) => [path, [...query], [...headers], body]),
  )
  expect(sent).not.toContain(token)
  expect(sent).not.toContain('svc_')
  expect(sent).not.toContain('operator-')
  for (const { headers } of host.asked) expect(headers.get('authorization')).toBe(`Bearer ${secret}`)
  // A colleague's agent has neither.
  const grace = await member(t, ada, 'member')
  host.asked.length = 0
  const colleagues = await connectMcp(t.url, await mcpToken(t, grace))
  const refused = await colleagues.call('create_pr', { repo: slug, title: 'Lock', head: 'lock' })
  expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'forbidden' } })
  expect(String(refused.structuredContent?.detail)).toContain('You have no token saved')
  expect(host.asked).toEqual([])
  await client.close()
  await colleagues.close()
})

test('a test token cannot open a pull request', async () => {
  const { t, host } = setups.get('github') as Setup
  const ada = await person(t)
  const slug = `${unique('tutti')}/engine`
  const there = host.add(slug)
  await save(ada, 'github')
  const token = await mcpToken(t, ada, { kind: 'test' })
  const { contextOf } = await import('../../src/action.ts')
  const service = await import('../../src/features/repositories/service.ts')
  const pulls = await import('../../src/features/repositories/pulls.ts')
  const ctx = contextOf(t.app, await t.app.auth.authenticate(token))
  const { id } = await service.connect(ctx, { repo: slug })
  const error = await pulls.create(ctx, { ref: id, title: 'Lock', head: 'lock' }).catch((e: unknown) => e)
  expect(error).toMatchObject({
    code: 'forbidden',
    message: 'A test token cannot change anything at a code host. Use a live token.',
  })
  expect(there.pulls).toEqual([])
})
