import { afterAll, beforeAll, expect, test } from 'bun:test'
import { BINARY, bareEnv, freePort, onTerminal, type Served, serve, tutti } from '../support/binary.ts'
import { Home, Office } from './home.ts'

/** `tutti watch` and `tutti wait` with the built program, also while the server restarts. */
let office: Office
let home: Home
let server: Served
const port = String(freePort())

beforeAll(async () => {
  office = await Office.open({}, port)
  server = office.server
  home = new Home(office)
  const key = await office.key()
  const login = ['login', office.url, '--with-token']
  expect((await tutti(login, { env: home.env, stdin: key })).code).toBe(0)
  await office.api('POST', '/api/projects', { name: 'Mine', key: 'MY' })
  await office.api('POST', '/api/projects', { name: 'Other', key: 'OTH' })
}, 300_000)
afterAll(() => server.kill())

/** A program that keeps running while the test does something else. */
function start(...args: string[]) {
  const child = Bun.spawn([BINARY, ...args], {
    env: { ...bareEnv, ...home.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const shown = { out: '', err: '' }
  let changed = Promise.withResolvers<void>()
  const read = async (stream: ReadableStream<Uint8Array>, name: 'out' | 'err') => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      shown[name] += decoder.decode(chunk, { stream: true })
      changed.resolve()
    }
  }
  const done = Promise.all([child.exited, read(child.stdout, 'out'), read(child.stderr, 'err')]).then(([code]) => ({
    code,
    ...shown,
  }))
  /** Resolves when the program has printed this; rejects if it ends before. */
  const until = async (text: string | RegExp, name: 'out' | 'err' = 'out'): Promise<void> => {
    while (!(typeof text === 'string' ? shown[name].includes(text) : text.test(shown[name]))) {
      changed = Promise.withResolvers()
      const ended = await Promise.race([changed.promise, done])
      if (ended) throw new Error(`ended with ${ended.code}: ${ended.out}${ended.err}`)
    }
  }
  return { done, until, stop: () => child.kill('SIGINT') }
}

async function create(title: string, project = 'mine'): Promise<string> {
  const { status, body } = await office.api<{ key: string }>('POST', `/api/projects/${project}/tasks`, { title })
  expect(status).toBe(201)
  return body.key
}
const update = async (key: string, status: string): Promise<void> => {
  expect((await office.api('PATCH', `/api/tasks/${key}`, { status })).status).toBe(200)
}

test('watch prints events in plain English, reconnects after a restart, and exits with 0', async () => {
  const team = start('watch')
  const project = start('watch', '-p', 'MY', '--type', 'task.completed', '--type', 'note.created')
  await Promise.all([team.until('Ctrl-C', 'err'), project.until('Watching Mine', 'err')])
  const key = await create('Lock it')
  await team.until(`Grace Hopper created ${key} Lock it\n`)
  await create('Elsewhere', 'other')
  await team.until('Elsewhere')
  await server.stop()
  await team.until('Connecting again', 'err')
  server = await serve({ dir: server.dir, port })
  await create('While nobody heard')
  await update(key, 'done')
  await project.until(`completed ${key} Lock it\n`)
  await team.until(`completed ${key} Lock it\n`)
  for (const one of [team, project]) one.stop()
  const [all, some] = await Promise.all([team.done, project.done])
  expect([all.code, some.code]).toEqual([0, 0])
  expect(all.out.match(/^\d\d:\d\d:\d\d {2}Grace Hopper .*$/gm)?.map((line) => line.slice(10))).toEqual([
    `Grace Hopper created ${key} Lock it`,
    'Grace Hopper created OTH-1 Elsewhere',
    'Grace Hopper created MY-2 While nobody heard',
    `Grace Hopper completed ${key} Lock it`,
  ])
  expect(some.out).toMatch(/^\S+ {2}Grace Hopper completed \S+ Lock it\n$/)
}, 300_000)

test('watch --json prints one event per line and nothing else', async () => {
  const watching = start('watch', '--json', '-p', 'mine')
  const heard = watching.until('\n')
  let isHeard = false
  void heard.then(() => {
    isHeard = true
  })
  for (let n = 1; !isHeard; n++) await create(`Task ${n}`)
  await heard
  watching.stop()
  const { code, out, err } = await watching.done
  expect([code, err]).toEqual([0, ''])
  const piped = Bun.spawn(['sh', '-c', `"${BINARY}" watch --json -p mine | head -n 1`], {
    env: { ...bareEnv, ...home.env },
    stdout: 'pipe',
  })
  let isOver = false
  const over = piped.exited.then(() => {
    isOver = true
  })
  while (!isOver) await create('Nobody reads on')
  await over
  for (const line of out.trimEnd().split('\n'))
    expect(JSON.parse(line)).toMatchObject({
      type: 'task.created',
      cursor: expect.any(String),
      data: { status: 'todo' },
    })
}, 300_000)

test('wait ends when the task reaches the state, or at once if it already has', async () => {
  const key = await create('Wait for it')
  const other = await create('And for this')
  const done = start('wait', key, '--timeout', '1h')
  const any = start('wait', other, key, '--until', 'in_review,done')
  const all = start('wait', other, key, '--all', '--json')
  await update(key, 'in_progress')
  await update(key, 'done')
  expect(await done.done).toEqual({ code: 0, out: `${key} is done.\n`, err: '' })
  expect((await any.done).out).toBe(`${key} is done.\n`)
  await update(other, 'done')
  const both = await all.done
  expect(both).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(both.out)).toMatchObject({
    items: [
      { kind: 'task', name: other, status: 'done' },
      { kind: 'task', name: key, status: 'done' },
    ],
  })
  expect(await home.run('wait', key, '--until', 'done')).toEqual({ code: 0, out: `${key} is done.\n`, err: '' })
  const terminal = await onTerminal(['wait', key], { env: home.env })
  expect(terminal).toEqual({ code: 0, shown: `${key} is done.\n` })
}, 300_000)

test('wait accepts gates and review verdicts of a feature', async () => {
  const { body: feature } = await office.api<{ id: string }>('POST', '/api/projects/mine/features', {
    title: 'Folder lock',
    kind: 'chore',
  })
  const move = async (evidence?: object) =>
    expect((await office.api('POST', `/api/features/${feature.id}/advance`, evidence && { evidence })).status).toBe(200)
  const wrong = await home.run('wait', feature.id, '--until', 'finished')
  expect(wrong).toMatchObject({
    code: 2,
    err: expect.stringMatching(/no state finished.*in_review.*code_complete.*reviewed/),
  })
  const gate = start('wait', feature.id.slice(0, 23), '--until', 'code_complete')
  const reviewed = start('wait', feature.id, '--until', 'reviewed')
  await move()
  await move({ summary: 'It locks', commits: ['3f98b0f'] })
  expect(await gate.done).toMatchObject({ code: 0, out: 'Folder lock is in_testing.\n' })
  await move({ summary: 'All pass', tests: { command: 'bun test', passed: 3, failed: 0 } })
  // Its own author may review it where the team has no other member.
  const verdict = { verdict: 'changes_requested', comments: 'Not on NFS' }
  expect((await office.api('POST', `/api/features/${feature.id}/reviews`, verdict)).status).toBe(200)
  expect(await reviewed.done).toMatchObject({ code: 0, out: 'Folder lock is needs_edits: changes requested.\n' })
  expect((await home.run('wait', feature.id, '--until', 'changes_requested')).code).toBe(0)
}, 300_000)

test('wait prints why it gives up', async () => {
  const key = await create('Never done')
  const late = await home.run('wait', key, '--timeout', '1s')
  expect(late).toEqual({ code: 6, out: '', err: `tutti: ${key} is still todo after 1s.\n` })
  expect(await home.run('wait', 'MY-999')).toMatchObject({ code: 4 })
  const state = await home.run('wait', key, '--until', 'finished')
  expect(state).toMatchObject({ code: 2, err: expect.stringContaining('backlog, todo, in_progress') })
  expect((await home.run('wait', key, '--timeout', 'soon')).code).toBe(2)
  const stranger = new Home(office)
  for (const command of [['wait', key], ['watch']])
    expect(await stranger.run(...command)).toMatchObject({ code: 3, err: expect.stringContaining('tutti login') })
  expect((await home.run('watch', '-p', 'NOPE')).code).toBe(4)
  const waiting = start('wait', key)
  await office.api('DELETE', `/api/tasks/${key}`)
  expect(await waiting.done).toMatchObject({ code: 4 })
}, 300_000)
