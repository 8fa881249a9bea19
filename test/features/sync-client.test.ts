import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../../cli/api/client.ts'
import { memoryCredentials } from '../../cli/api/profiles.ts'
import { Copy } from '../../cli/copy/copy.ts'
import { exchangeWithServer, pullChanges, pushChanges, registerDevice } from '../../cli/copy/exchange.ts'
import { withIds } from '../../cli/copy/local-names.ts'
import type { Row } from '../../cli/copy/mutation.ts'
import { LocalApi } from '../../cli/copy/offline/local-api.ts'
import { AppError } from '../../src/errors.ts'
import { createToken, revokeToken } from '../../src/features/tokens/service.ts'
import { type Person, person, sharedApp, type TestApp } from '../support/app.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-copy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let t: TestApp
let ada: Person
let project: string
beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  project = await make('/api/projects', { name: 'Mine', key: 'MY' })
})

async function make(path: string, body: object): Promise<string> {
  const { status, body: made } = await ada.fetch<{ id: string }>('POST', path, body)
  expect([path, status, made]).toEqual([path, 201, made])
  return made.id
}

let devices = 0
/** A computer of the person; `cut` makes the next request to a path fail before or after the server has handled it. */
class Computer extends Client {
  readonly #file = join(folder, `${++devices}.sqlite`)
  copy: Copy
  cut: { path: string; when: 'before' | 'after' } | undefined

  constructor(readonly who: Person = ada) {
    super(t.url, memoryCredentials({ token: who.token }))
    this.copy = new Copy({ server: t.url, userId: who.userId }, this.#file)
    this.copy.set('team', who.organizationId)
  }

  override async request<T>(method: string, path: string, body?: object): Promise<T> {
    const cut = this.cut && path.startsWith(this.cut.path) ? this.cut : undefined
    if (cut) this.cut = undefined
    if (cut?.when === 'before') throw new AppError('unavailable', 'cut')
    const answer = await super.request<T>(method, path, body)
    if (cut) throw new AppError('unavailable', 'cut')
    return answer
  }

  /** Like kill -9 and a new process. */
  restart(): void {
    this.copy.close()
    this.copy = new Copy({ server: t.url, userId: this.who.userId }, this.#file)
  }

  sync = () => exchangeWithServer(this.copy, this)
  get local(): LocalApi {
    const { userId: id, email, organizationId } = this.who
    return new LocalApi(this.copy, { id, email, name: 'Ada Lovelace' }, organizationId)
  }
  offline = <R = Row>(method: string, path: string, body?: object): R => this.local.request(method, path, body) as R
}

const read = async <R = Row>(path: string): Promise<R> =>
  (await ada.fetch<Record<string, unknown>>('GET', path)).body as R
const lost = (work: Promise<unknown>) => expect(work).rejects.toThrow('cut')

describe('the local copy', () => {
  test('returns the same responses as the server', async () => {
    const task = await make(`/api/projects/${project}/tasks`, {
      title: 'Lock it',
      description: 'why',
      labels: ['db', 'ops'],
      assignee: 'me',
      acceptance: ['one writer'],
      dueAt: '2027-01-31',
      estimate: 3,
    })
    await make(`/api/tasks/${task}/comments`, { body: 'Works' })
    const note = await make('/api/notes', {
      title: 'Runbook',
      content: 'see [[Other]]',
      tags: ['ops'],
      projectId: project,
    })
    const other = await make('/api/notes', { title: 'Other', content: 'x', scope: 'personal' })
    const decision = await make('/api/decisions', {
      title: 'Which lock',
      decision: 'flock',
      alternatives: ['a file'],
      projectId: project,
    })
    const memory = await make('/api/memories', { content: 'Two writers', scope: 'project', scopeId: project })
    const computer = new Computer()
    await computer.sync()
    // The copy holds a record's own columns: no leases, links, permissions, or counts of who is at work.
    const without = ['can', 'links', 'recentActivity', 'embeddingModel', 'stats']
    const own = (record: Row): Row =>
      JSON.parse(JSON.stringify(record, (name, value) => (without.includes(name) ? undefined : value)))
    for (const path of [
      `/api/projects/${project}`,
      '/api/projects/my',
      `/api/tasks/${task}`,
      '/api/tasks/my-1',
      `/api/notes/${note}`,
      `/api/notes/${other}`,
      `/api/decisions/${decision}`,
      `/api/memories/${memory}`,
    ])
      expect([path, own(computer.offline('GET', path))]).toEqual([path, own(await read(path))])
    const { stats } = computer.offline('GET', '/api/projects/my')
    expect((await read('/api/projects/my')).stats).toMatchObject(stats as Row)
    expect(stats).toEqual({ notes: 1, tasks: 1, tasksDone: 0 })
    interface Page {
      items: Row[]
    }
    for (const path of [
      '/api/projects',
      '/api/tasks?open=true&label=db&assignee=me',
      `/api/tasks?projectId=${project}&search=lock`,
      '/api/notes?tag=ops',
      '/api/notes?scope=personal',
      '/api/decisions?search=flock',
      `/api/memories?projectId=${project}`,
    ]) {
      const [here, there] = [computer.offline<Page>('GET', path), await read<Page>(path)]
      expect([path, here.items.map(own)]).toEqual([path, there.items.map(own)])
      expect(there.items.length).toBeGreaterThan(0)
    }
  })

  test('contains only records that the user can see now', async () => {
    const grace = await person(t, { name: 'Grace Hopper' })
    const hers = new Computer(grace)
    await hers.sync()
    expect(hers.copy.list('project').filter(({ id }) => id === project)).toEqual([])
    expect(hers.copy.list('note')).toEqual([])
  })
})

describe('offline changes', () => {
  test('are applied once, whenever the connection or the process ends', async () => {
    const computer = new Computer()
    await computer.sync()
    for (const [path, when] of [
      ['/api/sync/push', 'before'],
      ['/api/sync/push', 'after'],
      ['/api/sync/pull', 'before'],
      ['/api/sync/pull', 'after'],
    ] as const) {
      const made = computer.offline('POST', `/api/projects/my/tasks`, { title: `${path} ${when}` })
      computer.offline('POST', `/api/tasks/${made.id}/comments`, { body: 'once' })
      computer.cut = { path, when }
      await lost(computer.sync())
      computer.restart()
      // It is still there, whether or not the server has it.
      expect(computer.offline('GET', `/api/tasks/${made.id}`)).toMatchObject({ title: `${path} ${when}` })
      await computer.sync()
      expect(computer.copy.queue()).toEqual([])
      const task = await read<Row & { comments: Row[] }>(`/api/tasks/${made.id}`)
      expect(task.comments.map(({ body }) => body)).toEqual(['once'])
      expect(computer.offline('GET', `/api/tasks/${made.id}`)).toMatchObject({ key: task.key, version: task.version })
    }
  })

  test('of two computers are merged', async () => {
    const [one, two] = [new Computer(), new Computer()]
    const note = await make('/api/notes', { title: 'Both', content: 'a\nb\nc\n', tags: ['x', 'y'], projectId: project })
    for (const computer of [one, two]) await computer.sync()
    one.offline('PUT', `/api/notes/${note}`, { content: 'A\nb\nc\n', tags: ['x', 'y', 'one'] })
    two.offline('PUT', `/api/notes/${note}`, { content: 'a\nb\nC\n', tags: ['y'], title: 'Ours' })
    for (const computer of [one, two, one]) await computer.sync()
    const stored = await read(`/api/notes/${note}`)
    expect(stored).toMatchObject({ title: 'Ours', content: 'A\nb\nC\n' })
    expect(new Set(stored.tags as string[])).toEqual(new Set(['y', 'one']))
    for (const computer of [one, two])
      expect(computer.offline('GET', `/api/notes/${note}`)).toMatchObject({ content: 'A\nb\nC\n', title: 'Ours' })
  })

  test('are shown on top of others’ changes until the server has decided', async () => {
    const computer = new Computer()
    const note = await make('/api/notes', { title: 'First', projectId: project })
    await computer.sync()
    computer.offline('PUT', `/api/notes/${note}`, { title: 'Mine' })
    await ada.fetch('PUT', `/api/notes/${note}`, { title: 'Theirs' })
    await pullChanges(computer.copy, computer)
    expect(computer.offline('GET', `/api/notes/${note}`)).toMatchObject({ title: 'Mine' })
    // The user never saw "Theirs", so it stays.
    expect(await pushChanges(computer.copy, computer)).toMatchObject({ pushed: 1, conflicts: 1 })
    await pullChanges(computer.copy, computer)
    expect(computer.offline('GET', `/api/notes/${note}`)).toMatchObject({ title: 'Theirs' })
    expect(await read(`/api/notes/${note}`)).toMatchObject({ title: 'Theirs' })
  })

  test('survive a removed device and an update of the program', async () => {
    const computer = new Computer()
    await computer.sync()
    const known = () => computer.copy.get('deviceId') as string
    const first = known()
    const note = computer.offline('POST', '/api/notes', { title: 'Away', projectId: project })
    await t.app.driver.query("update sync_devices set last_seen_at = now() - interval '91 days' where id = $1", [first])
    expect(await computer.sync()).toMatchObject({ pushed: 1, rejected: 0 })
    const second = known()
    expect(second).not.toBe(first)
    expect(await read(`/api/notes/${note.id}`)).toMatchObject({ title: 'Away' })
    await ada.fetch('DELETE', `/api/sync/devices/${second}`)
    await registerDevice(computer.copy, computer)
    const third = known()
    expect(third).not.toBe(second)
    computer.copy.set('schema', '2024-01-01')
    await t.app.driver.query("update sync_devices set schema = '2024-01-01' where id = $1", [third])
    computer.offline('PUT', `/api/notes/${note.id}`, { title: 'Back' })
    expect(await computer.sync()).toMatchObject({ pushed: 1, rejected: 0 })
    expect(known()).toBe(third)
    expect(await read(`/api/notes/${note.id}`)).toMatchObject({ title: 'Back' })
  })

  test('of blockers, comments on decisions, notes and evidence arrive in their own form', async () => {
    const computer = new Computer()
    const [one, two] = [
      await make('/api/projects/my/tasks', { title: 'First' }),
      await make('/api/projects/my/tasks', { title: 'Second' }),
    ]
    const decision = await make('/api/decisions', { title: 'Why', decision: 'So', projectId: project })
    await computer.sync()
    const ties = ({ waitsFor }: Row) => (waitsFor as Row[]).map(({ id }) => id)
    const bodies = ({ discussion }: Row) => (discussion as Row[]).map(({ body }) => body)
    computer.offline('PATCH', `/api/tasks/${two}`, { blockedBy: [one] })
    computer.offline('POST', `/api/decisions/${decision}/comments`, { body: 'What about macOS?' })
    expect(ties(computer.offline('GET', `/api/tasks/${two}`))).toEqual([one])
    expect(computer.offline<{ blockedBy: string[] }>('GET', `/api/tasks/${two}`).blockedBy).toHaveLength(1)
    expect(bodies(computer.offline('GET', `/api/decisions/${decision}`))).toEqual(['What about macOS?'])
    expect(await computer.sync()).toMatchObject({ pushed: 2, rejected: 0 })
    expect(ties(await read(`/api/tasks/${two}`))).toEqual([one])
    expect(bodies(await read(`/api/decisions/${decision}`))).toEqual(['What about macOS?'])
    computer.offline('PATCH', `/api/tasks/${two}`, { blockedBy: [] })
    expect(ties(computer.offline('GET', `/api/tasks/${two}`))).toEqual([])
    const said = { notes: 'Only on Linux.\n\nmacOS later.', evidence: ['abcdef1', 'https://ci.example/7', '214 pass'] }
    computer.offline('POST', `/api/tasks/${two}/complete`, said)
    expect(await computer.sync()).toMatchObject({ pushed: 2, rejected: 0 })
    await ada.fetch('POST', `/api/tasks/${one}/complete`, said)
    const [there, here] = [await read(`/api/tasks/${one}`), await read(`/api/tasks/${two}`)]
    expect(ties(here)).toEqual([])
    expect(here.completionNotes).toBe(there.completionNotes)
    const evidence = { summary: '214 pass', commits: ['abcdef1'], links: ['https://ci.example/7'] }
    for (const task of [here, there]) expect(task.evidence).toMatchObject([{ level: 'reported', evidence }])
    // More evidence for a task that is done is added to what is there.
    computer.offline('POST', `/api/tasks/${two}/complete`, { evidence: ['fedcba9'] })
    await computer.sync()
    expect((await read(`/api/tasks/${two}`)).evidence).toMatchObject([
      { evidence },
      { evidence: { commits: ['fedcba9'] } },
    ])
  })

  test('of a project that only this computer has refer to it by name until the server knows it', async () => {
    const computer = new Computer()
    computer.offline('POST', '/api/projects', { name: 'Moon Base' })
    const create = (title: string) => computer.offline('POST', '/api/projects/moon base/tasks', { title })
    const [task, other] = [create('Land'), create('Wait')]
    await computer.sync()
    expect(withIds(computer.copy, `/api/tasks/${task.key}`)).toEqual([`/api/tasks/${task.id}`])
    expect(await read(`/api/tasks/${task.id}`)).toMatchObject({ title: 'Land' })
    // A task that was never sent is gone with its comments; one that the server has is deleted there.
    const unsent = computer.offline('POST', '/api/projects/my/tasks', { title: 'Never sent' })
    computer.offline('POST', `/api/tasks/${unsent.id}/comments`, { body: 'Never sent' })
    for (const { id } of [unsent, other]) computer.offline('DELETE', `/api/tasks/${id}`)
    // A decision without its text could not be completed once it was refused.
    expect(() => computer.offline('POST', '/api/decisions', { title: 'Why' })).toThrow('decision is required.')
    expect(await computer.sync()).toMatchObject({ pushed: 1, rejected: 0 })
  })

  test('by a token have its rights', async () => {
    const computer = new Computer()
    await computer.sync()
    const ctx = await ada.ctx()
    const { id } = await createToken(ctx, {
      name: 'agent',
      organizationId: ada.organizationId,
      scopes: ['tasks:write'],
    })
    const as = new LocalApi(computer.copy, { id: ada.userId, name: 'Ada', email: ada.email }, ada.organizationId, id)
    const task = as.request('POST', '/api/projects/my/tasks', { title: 'By an agent' }) as Row
    const note = as.request('POST', '/api/notes', { title: 'By an agent', projectId: project }) as Row
    expect(await computer.sync()).toMatchObject({ pushed: 2, rejected: 1 })
    expect(await read(`/api/tasks/${task.id}`)).toMatchObject({ title: 'By an agent' })
    expect(computer.copy.all<Row>('select id from rejected')).toEqual([{ id: note.id }])
    as.request('POST', '/api/projects/my/tasks', { title: 'Too late' })
    await revokeToken(ctx, { id })
    expect(await computer.sync()).toMatchObject({ pushed: 1, rejected: 1 })
  })
})
