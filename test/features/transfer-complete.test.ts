import { beforeAll, expect, test } from 'bun:test'
import type { ImportResult, Line } from '../../src/features/transfer/schema.ts'
import { otherInstallation, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { pictureForm, pictures } from '../support/pictures.ts'
import { oneOfEach } from '../support/records.ts'

let t: TestApp
let elsewhere: TestApp
let ada: Person
let heir: Person
beforeAll(async () => {
  ;[t, elsewhere] = [await sharedApp(), await otherInstallation()]
  ;[ada, heir] = [await person(t), await person(elsewhere)]
})

const ofTeam = 'organization_id = $1::uuid'
const ofTeamOrOwn = `(${ofTeam} or (organization_id is null and created_by_id = $2::uuid))`
const of = (column: string, table: string, where = ofTeam) => `${column} in (select id from ${table} where ${where})`

/** Where the rows of a table are that travel, and the columns that mean nothing on another installation. */
const travels: Record<string, { where: string; except?: string[] }> = {
  projects: { where: ofTeam, except: ['workspace_id', 'last_number'] },
  epics: { where: ofTeam },
  stories: { where: ofTeam },
  tasks: {
    where: ofTeam,
    // A lease is of a worker that is connected there.
    except: [
      'lease_type',
      'lease_holder_id',
      'lease_session_id',
      'lease_credential_id',
      'lease_connection',
      'lease_closed_at',
      'lease_for_id',
      'lease_why',
      'lease_since',
      'lease_seen_at',
      'lease_expires_at',
    ],
  },
  task_comments: { where: of('task_id', 'tasks') },
  task_evidence: { where: of('task_id', 'tasks') },
  task_dependencies: { where: of('task_id', 'tasks'), except: ['id'] },
  features: { where: ofTeam },
  feature_evidence: { where: of('feature_id', 'features') },
  feature_reviews: { where: of('feature_id', 'features') },
  feature_dependencies: { where: of('feature_id', 'features') },
  repositories: { where: ofTeam },
  pull_requests: { where: of('repository_id', 'repositories') },
  specs: { where: ofTeam },
  spec_versions: { where: of('spec_id', 'specs') },
  decisions: { where: ofTeam },
  decision_comments: { where: of('decision_id', 'decisions') },
  notes: { where: ofTeamOrOwn },
  // Its worker and the events that it has seen are of the other installation.
  sessions: { where: ofTeam, except: ['credential_id', 'connection', 'connection_closed_at', 'seen_seq'] },
  memories: { where: ofTeam },
  views: { where: ofTeam },
  skills: { where: ofTeamOrOwn },
  // MCP tokens do not travel, so an agent is of no token any more.
  agents: { where: ofTeamOrOwn, except: ['for_id', 'client'] },
  attachments: { where: ofTeamOrOwn },
  links: { where: 'created_by_id = $2::uuid' },
}

/** Why the rows of the other tables do not travel. A new table has to be added here or above. */
const stays: Record<string, readonly string[]> = {
  'people, teams and their settings are of an installation': [
    'users',
    'organizations',
    'memberships',
    'invites',
    'uploads',
    'pending_uploads',
    'integrations',
    'connected_accounts',
    'workspaces',
    'workspace_teams',
    'workspace_invites',
    'notifications',
    'announcements',
    'issues',
    'mails',
  ],
  'secrets and sign-ins never leave': [
    'api_keys',
    'mcp_tokens',
    'login_sessions',
    'refresh_tokens',
    'one_time_secrets',
    'passkeys',
    'device_codes',
    'oauth_clients',
    'oauth_grants',
    'oauth_refresh_tokens',
    'push_subscriptions',
  ],
  'they are computed from what travels': [
    'passages',
    'passage_signs',
    'passage_vectors',
    'vector_indexes',
    'task_counts',
    'task_days',
    'event_days',
    'call_minutes',
  ],
  'they say which connections are open now': ['stream_holders', 'open_streams'],
  'they are the site, the community, the assistant and the tunnels of an installation': [
    'site_old_slugs',
    'site_categories',
    'site_texts',
    'site_settings',
    'contact_messages',
    'sponsors',
    'ai_messages',
    'ai_sessions',
    'ai_usage',
    'hidden_records',
    'tracked_issues',
    'tracked_repositories',
    'marketplace_reports',
    'skill_calls',
    'community_posts',
    'community_reports',
    'tunnel_actions',
    'tunnel_former_slugs',
    'tunnel_hours',
    'tunnel_sessions',
    'tunnels',
  ],
  'they are the history and the bookkeeping of an installation': [
    'events',
    'changes',
    'change_items',
    'idempotency_keys',
    'imported_records',
    'jobs',
    'meta',
    'counters',
    'sync_conflicts',
    'sync_cursors',
    'sync_devices',
    'sync_receipts',
  ],
}

async function tablesOf({ app }: TestApp): Promise<string[]> {
  const { rows } = await app.driver.query(
    `select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    [],
  )
  return rows.map(([name]) => String(name)).filter((name) => !name.startsWith('test_') && name !== 'migrations')
}

/** Returns the rows of a table in a comparable form: the same on both sides if they are equal in every column. */
async function rowsOf({ app }: TestApp, who: Person, table: string): Promise<object[]> {
  const { where, except = [] } = travels[table] as { where: string; except?: string[] }
  const params = where.includes('$2') ? [who.organizationId, who.userId] : [who.organizationId]
  const typed = where.includes('$1') ? where : `$1::uuid is not null and ${where}`
  const { rows } = await app.driver.query(`select to_jsonb(r)::text from ${table} r where ${typed}`, params)
  return rows
    .map(([text]) => {
      const row = JSON.parse(
        String(text).replaceAll(who.organizationId, 'team').replaceAll(who.userId, 'me'),
      ) as Record<string, unknown>
      for (const name of except) delete row[name]
      return row
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Makes something in every table that travels, through the web API. */
async function fill(who: Person): Promise<Record<'later' | 'spec' | 'note', string>> {
  const more = {
    note: { tags: ['x'], content: 'see [[Other]]', pinned: true },
    task: { acceptance: ['one'], assignee: 'me', labels: ['a'], estimate: 3, dueAt: '2027-01-02T03:04:05.000Z' },
  }
  const made = await oneOfEach(who, { more })
  const send = async (method: string, path: string, body: object) => {
    const answer = await who.fetch<{ id: string }>(method, `/api${path}`, body)
    if (answer.status > 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.id
  }
  const post = (path: string, body: object) => send('POST', path, body)
  const { project, task, decision, spec, note, feature, session, repository, agent } = made
  const later = await post(`/projects/${project.id}/tasks`, { title: 'Later', blockedBy: [task.id] })
  await send('PATCH', `/tasks/${later}`, { assignee: agent.id })
  await post(`/tasks/${later}/relations`, { task: task.id, kind: 'relates' })
  await post(`/tasks/${task.id}/comments`, { body: 'Works?', asks: true })
  await post(`/tasks/${task.id}/complete`, { notes: 'Done so', evidence: ['3f98b0f', 'ran it'], accepted: [1] })
  await post(`/projects/${project.id}/features`, { title: 'Waits', blockedBy: [feature.id] })
  await post(`/features/${feature.id}/advance`, {})
  await post(`/features/${feature.id}/advance`, { evidence: { summary: 'There', files: ['a.ts'] } })
  const { body } = await who.fetch<{ evidence: { id: string }[] }>('GET', `/api/features/${feature.id}`)
  await post(`/features/${feature.id}/evidence/${body.evidence[0]?.id}/verify`, {})
  await post(`/decisions/${decision.id}/comments`, { body: 'Agreed' })
  await send('PATCH', `/specs/${spec.id}`, { content: 'Second', baseVersion: 1, message: 'more' })
  await post('/links', { fromType: 'note', fromId: note.id, toType: 'session', toId: session.id })
  await post('/links', { fromType: 'repository', fromId: repository.id, toType: 'task', toId: task.id })
  const diary = await post('/notes', { title: 'Mine', content: 'x', scope: 'personal' })
  await post('/views', { name: 'Mine', query: 'a=b' })
  await post('/views', { name: 'Ours', query: 'a=c', shared: true, projectId: project.id })
  await post(`/sessions/${session.id}/checkpoint`, { checkpoint: { nextStep: 'Go on' } })
  await post(`/sessions/${session.id}/end`, { summary: 'All there' })
  for (const [kind, id] of [
    ['note', diary],
    ['task', task.id],
  ] as const)
    await upload(who, kind, id)
  await t.app.driver.query(
    `insert into feature_reviews (id, feature_id, verdict, comment, actor_type, actor_id, actor_name, created_at)
     values ($1, $2, 'approved', 'Good', 'user', $3, 'Ada', now())`,
    [Bun.randomUUIDv7(), feature.id, who.userId],
  )
  await t.app.driver.query(
    `insert into pull_requests (id, repository_id, feature_id, created_by_id, created_at, number, url, title, head, base)
     values ($1, $2, $3, $4, now(), 7, 'https://example.com/pull/7', 'Lock', 'lock', 'main')`,
    [Bun.randomUUIDv7(), repository.id, feature.id, who.userId],
  )
  return { later, spec: spec.id, note: note.id }
}

const [, , png] = pictures[0] as [string, string, Buffer]
const bytes = Buffer.from(Array.from({ length: 3000 }, (_, i) => i % 251))

async function upload(who: Person, kind: string, recordId: string): Promise<void> {
  for (const [name, file] of [
    ['data.zip', bytes],
    ['cover.png', png],
  ] as const) {
    const query = new URLSearchParams({ kind, recordId, name })
    const answer = await who.fetch('POST', `/api/uploads?${query}`, pictureForm(file, name, 'text/html'))
    expect([name, answer.status]).toEqual([name, 201])
  }
}

async function exported(who: Person): Promise<{ lines: Line[]; people: { id: string; email: string }[] }> {
  const response = await fetch(`${t.url}/api/sync/export?format=ndjson`, {
    headers: { authorization: `Bearer ${who.token}` },
  })
  const lines = (await response.text()).trimEnd().split('\n')
  const all = lines.map((line) => JSON.parse(line) as Line & { people?: { id: string; email: string }[] })
  return { lines: all.filter(({ entity }) => entity), people: all.find(({ people }) => people)?.people ?? [] }
}

const imported = (who: Person, lines: readonly Line[]) =>
  who.fetch<ImportResult>('POST', '/api/sync/import', {
    people: [{ id: ada.userId, email: heir.email }],
    records: lines,
  })

test('every table is exported, or listed with the reason why not', async () => {
  const known = [...Object.keys(travels), ...Object.values(stays).flat()]
  const tables = await tablesOf(elsewhere)
  const advice = [
    ...tables.filter((name) => !known.includes(name)).map((name) => `${name}: add it to travels or stays`),
    ...known.filter((name) => !tables.includes(name)).map((name) => `${name}: remove it, there is no such table`),
    ...known.filter((name, i) => known.indexOf(name) < i).map((name) => `${name}: it is listed twice`),
  ]
  expect(advice).toEqual([])
})

let made: Awaited<ReturnType<typeof fill>>

test('an export imported into an empty server gives the same rows, and again changes nothing', async () => {
  made = await fill(ada)
  const { lines, people } = await exported(ada)
  expect(people).toEqual([{ id: ada.userId, email: ada.email }])
  const first = await imported(heir, lines)
  expect([first.status, first.body]).toEqual([200, { created: lines.length, updated: 0, unchanged: 0, conflicts: [] }])
  for (const table of Object.keys(travels)) {
    const rows = await rowsOf(t, ada, table)
    expect([table, rows.length > 0]).toEqual([table, true])
    expect([table, await rowsOf(elsewhere, heir, table)]).toEqual([table, rows])
  }
  expect((await imported(heir, lines)).body).toEqual({
    created: 0,
    updated: 0,
    unchanged: lines.length,
    conflicts: [],
  })
})

test('a later import merges texts, and updates statuses, edited comments and versions', async () => {
  const { later, spec, note } = made
  const ok = async (who: Person, method: string, path: string, body: object) => {
    const answer = await who.fetch<{ id: string }>(method, `/api${path}`, body)
    expect([path, answer.status < 300]).toEqual([path, true])
    return answer.body.id
  }
  const again = async () => (await imported(heir, (await exported(ada)).lines)).body
  await ok(ada, 'PUT', `/notes/${note}`, { content: 'a\nb\nc' })
  const comment = await ok(ada, 'POST', `/tasks/${later}/comments`, { body: 'Firts' })
  await again()
  await ok(ada, 'PUT', `/notes/${note}`, { content: 'a\nb\nthere' })
  await ok(heir, 'PUT', `/notes/${note}`, { content: 'here\nb\nc' })
  await ok(ada, 'PATCH', `/tasks/${later}/comments/${comment}`, { body: 'First' })
  await ok(ada, 'POST', `/tasks/${later}/complete`, { notes: 'Took long' })
  for (const version of [2, 3])
    await ok(ada, 'PATCH', `/specs/${spec}`, { content: `V${version}`, baseVersion: version })
  expect((await again()).conflicts).toEqual([])
  const there = async (path: string) => (await heir.fetch('GET', `/api${path}`)).body
  expect((await there(`/notes/${note}`)).content).toBe('here\nb\nthere')
  const done = (await ada.fetch('GET', `/api/tasks/${later}`)).body
  const { status, completedAt, completionNotes, startedAt } = done
  expect(await there(`/tasks/${later}`)).toMatchObject({ status, completedAt, completionNotes, startedAt })
  expect((await there(`/tasks/${later}/comments`)).items).toMatchObject([{ body: 'First', version: 2 }])
  expect(await there(`/specs/${spec}`)).toMatchObject({ content: 'V3', version: 4 })
  // Changed on both sides: what is stored here becomes a version of its own.
  await ok(heir, 'PATCH', `/specs/${spec}`, { title: 'Ours', baseVersion: 4 })
  await ok(ada, 'PATCH', `/specs/${spec}`, { content: 'V4', baseVersion: 4 })
  expect((await again()).conflicts).toEqual([])
  expect(await there(`/specs/${spec}`)).toMatchObject({ title: 'Ours', content: 'V4', version: 6 })
  await ok(heir, 'PATCH', `/specs/${spec}`, { content: 'V5', baseVersion: 6 })
})
