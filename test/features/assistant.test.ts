import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { loadConfig } from '../../src/config.ts'
import { streamAnswer } from '../../src/features/assistant/reply.ts'
import type {
  AiSession,
  AiSessionPage,
  AiStatus,
  Message,
  MessagePage,
  Source,
} from '../../src/features/assistant/schema.ts'
import { aiMessages, aiSessions } from '../../src/features/assistant/table.ts'
import { siteSettings } from '../../src/features/settings/table.ts'
import { apiKey, call, mcpToken, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { ChatServer } from '../support/chat-server.ts'
import { indexed, newProject, write } from './search-support.ts'
import { expectRefusal, TestClock, times, watch } from './support.ts'

const KEY = 'sk-operators-own-key-12345678'
const chat = new ChatServer()
/** With a chat model, and without. */
let t: TestApp
let quiet: TestApp
beforeAll(async () => {
  const model = { CHAT_URL: chat.url, CHAT_MODEL: 'talker', CHAT_KEY: KEY }
  t = watch(await testApp({ ...model, background: 'off' }))
  quiet = watch(await testApp({ background: 'off' }))
})
afterAll(async () => {
  await t.close()
  await quiet.close()
  await chat.close()
})
beforeEach(() => chat.script(ChatServer.says('The folder is locked [1].')))

const start = async (who: Person, about: object = {}): Promise<AiSession> => {
  const { status, body } = await who.fetch<AiSession>('POST', '/api/ai/sessions', about)
  expect([status, body]).toEqual([201, body])
  return body
}
const messagesOf = (session: AiSession): string => `/api/ai/sessions/${session.id}/messages`
const ask = async (who: Person, session: AiSession, content: string, more: object = {}): Promise<Message> => {
  const { status, body } = await who.fetch<Message>('POST', messagesOf(session), { content, ...more })
  expect([status, body]).toEqual([201, body])
  return body
}
const stored = async (who: Person, session: AiSession): Promise<Message[]> =>
  (await who.fetch<MessagePage>('GET', messagesOf(session))).body.items

/** Somebody with a note that fits, in a chat. */
async function ready(on: TestApp = t, about: object = {}): Promise<{ me: Person; session: AiSession }> {
  const me = await person(on)
  await write(me, { title: 'Locks', content: 'The folder is locked by one process.' })
  await indexed(on)
  return { me, session: await start(me, about) }
}

interface Happened {
  event: string
  data: { sources?: Source[]; text?: string; message?: Message }
}

/** Asks for a stream; returns its events as they come. */
async function* streamed(
  on: TestApp,
  who: Person,
  path: string,
  body: object,
  signal?: AbortSignal,
): AsyncGenerator<Happened> {
  const response = await fetch(on.url + path, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      authorization: `Bearer ${who.token}`,
      'content-type': 'application/json',
      'x-organization-id': who.organizationId,
    },
    body: JSON.stringify(body),
    signal,
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() as string
    for (const block of blocks) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
      if (event && data) yield { event, data: JSON.parse(data) }
    }
  }
}

const collected = async (happened: AsyncGenerator<Happened>): Promise<Happened[]> => {
  const all: Happened[] = []
  for await (const one of happened) all.push(one)
  return all
}

describe('a chat', () => {
  test('is started, listed, renamed and deleted by its owner, and hidden from everyone else', async () => {
    const { me, session } = await ready(quiet)
    const project = await newProject(me, { name: 'Engine' })
    const about = await start(me, { title: ' On the engine ', projectId: project.id })
    expect(about).toMatchObject({ title: 'On the engine', projectId: project.id, repositoryId: null, messages: 0 })
    const list = async (query = '') =>
      (await me.fetch<AiSessionPage>('GET', `/api/ai/sessions${query}`)).body.items.map(({ id }) => id)
    expect(await list()).toEqual([about.id, session.id])
    expect(await list(`?projectId=${project.id}`)).toEqual([about.id])
    expect(await list('?search=ENGINE')).toEqual([about.id])
    const path = `/api/ai/sessions/${session.id}`
    expect((await me.fetch<AiSession>('PATCH', `${path}/rename`, { title: 'Locks' })).body.title).toBe('Locks')
    const admin = await person(quiet, { admin: true })
    const colleague = await member(quiet, me, 'owner')
    for (const other of [admin, colleague]) {
      await expectRefusal(quiet, await other.fetch('GET', path), 404, 'not_found')
      await expectRefusal(quiet, await other.fetch('GET', `${path}/messages`), 404, 'not_found')
      await expectRefusal(quiet, await other.fetch('POST', `${path}/messages`, { content: 'x' }), 404, 'not_found')
      await expectRefusal(quiet, await other.fetch('DELETE', path), 404, 'not_found')
    }
    await ask(me, session, 'folder')
    expect((await me.fetch('DELETE', path)).status).toBe(200)
    await expectRefusal(quiet, await me.fetch('GET', path), 404, 'not_found')
    expect(await list()).toEqual([about.id])
  })

  test('is refused to agents’ tokens and to keys without the scope', async () => {
    const { me } = await ready(quiet)
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const list = async (token: string) => (await call(quiet, 'GET', '/api/ai/sessions', undefined, as(token))).status
    expect(await list(await mcpToken(quiet, me))).toBe(403)
    expect(await list(await apiKey(quiet, me, ['notes:read']))).toBe(403)
    expect(await list(await apiKey(quiet, me, ['ai:read']))).toBe(200)
  })
})

describe('without a chat model, the assistant', () => {
  test('returns the search results and says that no model answered', async () => {
    const { me, session } = await ready(quiet)
    const answer = await ask(me, session, 'Which folder is locked?')
    expect(answer).toMatchObject({
      role: 'assistant',
      status: 'no_model',
      content: 'No chat model is set up on this server. These records match your question.',
      sources: [{ number: 1, kind: 'note', title: 'Locks', commit: null, lines: null, url: null }],
      citations: [],
      proposals: [],
      usage: null,
      model: null,
      error: null,
    })
    expect(await stored(me, session)).toMatchObject([
      { role: 'user', content: 'Which folder is locked?', status: 'complete' },
      { ...answer },
    ])
    const { body } = await me.fetch<AiSession>('GET', `/api/ai/sessions/${session.id}`)
    expect(body).toMatchObject({ title: 'Which folder is locked?', messages: 2 })
    expect((await me.fetch<AiStatus>('GET', '/api/ai/status')).body).toEqual({
      model: null,
      host: null,
      local: true,
      left: null,
      team: true,
    })
  })

  test.each([
    {},
    { content: ' ' },
    { content: 'ü'.repeat(9000) },
    { content: 'x', kinds: ['user'] },
    { content: 'x', paths: ['a'] },
  ])('refuses the question %j', async (body) => {
    const { me, session } = await ready(quiet)
    await expectRefusal(quiet, await me.fetch('POST', messagesOf(session), body), 422, 'invalid')
    expect(await stored(me, session)).toEqual([])
  })
})

describe('with a chat model, the assistant', () => {
  test('answers with citations of its sources and with the cost', async () => {
    const { me, session } = await ready()
    chat.script(ChatServer.saysWithUsage('The folder is locked [1][7]. See [here](https://evil.example).', 120, 9))
    const answer = await ask(me, session, 'Which folder is locked?')
    expect(answer).toMatchObject({
      status: 'complete',
      content: 'The folder is locked [1]. See here.',
      citations: [1],
      usage: { prompt: 120, completion: 9, estimated: false },
      model: 'talker',
    })
    const [asked] = chat.asked
    expect(asked?.authorization).toBe(`Bearer ${KEY}`)
    expect(asked?.body.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    const { question, sources } = JSON.parse(asked?.body.messages[1]?.content as string)
    expect([question, sources.length, sources[0].title, sources[0].writtenBy]).toEqual([
      'Which folder is locked?',
      1,
      'Locks',
      'the person who asks',
    ])
  })

  test('streams the sources, then the text as it is written, then the stored message', async () => {
    const { me, session } = await ready()
    chat.script(ChatServer.says('The fol', 'der is <th', 'ink>secret</th', 'ink>locked [1].'))
    const happened = await collected(streamed(t, me, messagesOf(session), { content: 'folder?' }))
    expect([...new Set(happened.map(({ event }) => event))]).toEqual(['sources', 'delta', 'done'])
    expect(happened.filter(({ event }) => event === 'delta').length).toBeGreaterThan(2)
    expect(happened.flatMap(({ data }) => data.text ?? []).join('')).toBe('The folder is locked [1].')
    const { message } = (happened.at(-1) as Happened).data
    expect(message).toMatchObject({ content: 'The folder is locked [1].', usage: { estimated: true } })
    expect((await stored(me, session)).at(-1)).toEqual(message as Message)
  })

  test('removes links, addresses and citations of unknown sources, also while streaming', async () => {
    const { me, session } = await ready()
    const said = [
      'See [the no',
      'te](https://evil.example/?q=secret) or [the other][r',
      'ef], https://evil.exam',
      'ple/?q=secret, <https://evil.example> and www.evil.example/x. It is locked [',
      '1] and safe [9].\n\n[ref]: https://evil.example/?q=secret\n',
    ]
    chat.script(ChatServer.says(...said))
    const happened = await collected(streamed(t, me, messagesOf(session), { content: 'folder?' }))
    const { message } = (happened.at(-1) as Happened).data
    const written = happened.flatMap(({ data }) => data.text ?? []).join('')
    const content = message?.content as string
    expect(content).toStartWith(
      'See the note or the other, (link removed), (link removed) and (link removed). It is locked [1] and safe.',
    )
    expect([written, message?.citations]).toEqual([content, [1]])
    for (const text of [written, content]) expect(text).not.toContain('evil')
  })

  test('sends the earlier turns to the model, as far as they fit', async () => {
    const { me, session } = await ready()
    await ask(me, session, 'Which folder?')
    await ask(me, session, 'By whom?')
    expect(chat.asked[1]?.body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(chat.asked[1]?.body.messages[2]?.content).toBe('The folder is locked [1].')
    expect(await stored(me, session)).toHaveLength(4)
  })

  test('stops the model when the user disconnects, and keeps the text so far', async () => {
    const { me, session } = await ready()
    chat.script(ChatServer.saysAndWaits('The folder '))
    const stop = new AbortController()
    for await (const { event } of streamed(t, me, messagesOf(session), { content: 'folder?' }, stop.signal))
      if (event === 'delta') break
    stop.abort()
    await chat.asked[0]?.hungUp
    let last: Message | undefined
    while (last?.role !== 'assistant') last = (await stored(me, session)).at(-1)
    expect(last).toMatchObject({ status: 'stopped', content: 'The folder' })
  })

  const broken: [string, Parameters<typeof chat.script>[0], Message['error'], string][] = [
    [
      'a refusal that repeats the key',
      () => Response.json({ error: `bad ${KEY}` }, { status: 401 }),
      'upstream_failed',
      '',
    ],
    ['too many requests', () => new Response('slow down', { status: 429 }), 'upstream_failed', ''],
    ['garbage', () => new Response('<html>'), 'upstream_failed', ''],
    ['a garbled stream', () => ChatServer.streamOf(['{nonsense']), 'upstream_failed', ''],
    ['an error in the stream', () => ChatServer.streamOf([{ error: { message: 'no' } }]), 'upstream_failed', ''],
    ['nothing', ChatServer.says(''), 'upstream_failed', ''],
    ['only thoughts', ChatServer.says('<think>Hm, [1].'), 'upstream_failed', ''],
    ['half an answer', ChatServer.cutOff('The folder'), 'upstream_failed', 'The folder'],
    ['two megabytes', () => new Response('x'.repeat(2 << 20)), 'upstream_failed', ''],
    [
      'a way elsewhere',
      () => new Response(null, { status: 307, headers: { location: chat.url } }),
      'upstream_failed',
      '',
    ],
  ]
  test.each(broken)('%s: marks the answer as failed and keeps the sources', async (_, step, error, content) => {
    const { me, session } = await ready()
    chat.script(step)
    const answer = await ask(me, session, 'folder?')
    expect(answer).toMatchObject({ status: 'failed', error, content, sources: [{ title: 'Locks' }] })
    expect(JSON.stringify(await stored(me, session))).not.toContain(KEY)
  })

  test('gives up on a model that sends no word within the time limit', async () => {
    const own = await testApp({ CHAT_URL: chat.url, CHAT_MODEL: 'mute', CHAT_TIMEOUT_SECONDS: '1', background: 'off' })
    try {
      const { me, session } = await ready(own)
      chat.script(async ({ hungUp }) => {
        await hungUp
        return new Response()
      })
      const answer = await ask(me, session, 'folder?')
      expect(answer).toMatchObject({ status: 'failed', error: 'upstream_timeout', sources: [{ title: 'Locks' }] })
    } finally {
      await own.close()
    }
  })

  test('accepts servers that do not stream or that refuse tools', async () => {
    const { me, session } = await ready()
    const lump = { choices: [{ message: { role: 'assistant', content: 'Locked [1].' } }], usage: { prompt_tokens: 7 } }
    chat.script(() => Response.json(lump))
    expect(await ask(me, session, 'folder?')).toMatchObject({ content: 'Locked [1].', usage: { prompt: 7 } })
    const own = await testApp({ CHAT_URL: chat.url, CHAT_MODEL: 'plain', background: 'off' })
    try {
      const other = await ready(own)
      chat.script(({ body }) =>
        body.tools
          ? Response.json({ error: { message: 'tools' } }, { status: 400 })
          : ChatServer.says('Locked [1].')({} as never),
      )
      expect((await ask(other.me, other.session, 'folder?')).content).toBe('Locked [1].')
      expect((await ask(other.me, other.session, 'folder?')).content).toBe('Locked [1].')
      // Asked once in vain, and never again.
      expect(chat.asked.map(({ body }) => body.tools !== undefined)).toEqual([true, false, false])
    } finally {
      await own.close()
    }
  })

  test.each([
    ['the type of llama.cpp', { error: { code: 400, type: 'exceed_context_size_error', message: 'too long' } }],
    ['the code of OpenAI', { error: { code: 'context_length_exceeded', message: 'too long' } }],
    ['words', { message: 'This exceeds the maximum context length of the model.' }],
  ])('asks again with half of the sources if the model reports too much text by %s', async (_, refusal) => {
    const { me, session } = await ready()
    await write(me, { title: 'Folders', content: 'folder '.repeat(600) })
    await indexed(t)
    chat.script(() => Response.json(refusal, { status: 400 }), ChatServer.says('Locked [1].'))
    expect((await ask(me, session, 'folder '.repeat(700))).status).toBe('complete')
    const counts = chat.asked.map(({ body }) => {
      const { content } = body.messages.at(-1) as { content: string }
      return (JSON.parse(content) as { sources: object[] }).sources.length
    })
    expect(counts).toEqual([2, 1])
    chat.script(() => Response.json(refusal, { status: 400 }))
    expect(await ask(me, session, 'folder?')).toMatchObject({ status: 'failed', error: 'upstream_failed' })
    expect(chat.asked).toHaveLength(2)
  })

  test('does not ask the model if no sources were found', async () => {
    const me = await person(t)
    const answer = await ask(me, await start(me), unique('nothing'))
    expect(answer).toMatchObject({ status: 'complete', sources: [], usage: null })
    expect(answer.content).toStartWith('No record')
    expect(chat.asked).toEqual([])
  })
})

describe('a question', () => {
  test('with a repeated key returns the stored answer, or a conflict while it is being written', async () => {
    const { me, session } = await ready()
    const key = { 'idempotency-key': unique('question') }
    const send = (headers: object = key) =>
      me.fetch<Message>('POST', messagesOf(session), { content: 'folder?' }, headers as Record<string, string>)
    const go = Promise.withResolvers<void>()
    chat.script(async () => {
      await go.promise
      return ChatServer.says('Locked [1].')({} as never)
    })
    const first = send()
    while (chat.asked.length === 0) await Bun.sleep(1)
    await expectRefusal(t, await send(), 409, 'conflict.in_progress')
    go.resolve()
    const answer = (await first).body
    expect((await send()).body).toEqual(answer)
    expect(chat.asked).toHaveLength(1)
    expect(await stored(me, session)).toHaveLength(2)
    const other = await me.fetch('POST', messagesOf(session), { content: 'another?' }, key)
    await expectRefusal(t, other, 409, 'conflict.idempotency')
  })

  test('is refused while two others are being answered, and when the tokens of the day are used up', async () => {
    const limits = { CHAT_DAILY_TOKENS: '100', CHAT_PARALLEL: '1' }
    const settings = { CHAT_URL: chat.url, CHAT_MODEL: 'talker', background: 'off', ...limits } as const
    const own = await testApp(settings, new TestClock().now)
    try {
      const { me, session } = await ready(own)
      const admin = await person(own, { admin: true })
      const today = async () => {
        const { body } = await admin.fetch<AiStatus>('GET', '/api/ai/status')
        expect(body).toMatchObject({ host: new URL(chat.url).host, local: true })
        return body.today as NonNullable<AiStatus['today']>
      }
      const before = await today()
      const go = Promise.withResolvers<void>()
      chat.script(async () => {
        await go.promise
        return ChatServer.saysWithUsage('Locked [1].', 40, 5)({} as never)
      })
      const send = () => me.fetch('POST', messagesOf(session), { content: 'folder?' })
      // Whichever comes third is refused; the other two are not answered before the model may.
      const asked = times(3, send)
      const refused = await Promise.race(asked)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
      go.resolve()
      expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([201, 201, 429])
      const left = async () => (await me.fetch<AiStatus>('GET', '/api/ai/status')).body.left
      expect(await left()).toBe(10)
      expect((await send()).status).toBe(201)
      expect([await left(), (await send()).status]).toEqual([0, 429])
      // Deleting the chat gives nothing back.
      await me.fetch('DELETE', `/api/ai/sessions/${session.id}`)
      expect(await left()).toBe(0)
      expect(await today()).toEqual({
        users: before.users + 1,
        answers: before.answers + 3,
        tokens: before.tokens + 135,
      })
    } finally {
      await own.close()
    }
  })
})

describe('access to the assistant', () => {
  test('covers the chat’s team and project, as far as the user can read them now', async () => {
    const [me, stranger] = [await person(t), await person(t)]
    const word = unique('merger').replaceAll('-', '')
    const project = await newProject(me, { name: `Deal ${word}` })
    await write(me, { title: 'Inside', content: word, projectId: project.id })
    await write(me, { title: 'Team', content: word })
    await write(me, { title: 'Diary', content: word, scope: 'personal' })
    await write(stranger, { title: 'Theirs', content: word })
    const colleague = await member(t, me, 'member')
    await indexed(t)
    const titles = async (who: Person, session: AiSession) =>
      (await ask(who, session, word)).sources.map(({ title }) => title).sort()
    expect(await titles(me, await start(me))).toEqual([`Deal ${word}`, 'Diary', 'Inside', 'Team'].sort())
    const narrow = await start(colleague, { projectId: project.id })
    expect(await titles(colleague, narrow)).toEqual([`Deal ${word}`, 'Inside'].sort())
    // The right ends in the middle of the chat.
    const hidden = await me.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })
    expect([hidden.status, hidden.body]).toEqual([200, hidden.body])
    expect(await titles(colleague, narrow)).toEqual(['Team'])
    for (const { body } of chat.asked) expect(JSON.stringify(body)).not.toContain('Theirs')
  })

  test('can be switched off for everyone by an administrator', async () => {
    const { me, session } = await ready(quiet)
    const values = { enabled: false }
    await quiet.app.db
      .insert(siteSettings)
      .values({ key: 'assistant', values, secrets: {}, version: 1, updatedAt: new Date().toISOString() })
      .onConflictDoUpdate({ target: siteSettings.key, set: { values } })
    const own = await testApp({ background: 'off' })
    try {
      const call = (path: string, method = 'GET', body?: object) =>
        fetch(own.url + path, {
          method,
          headers: { authorization: `Bearer ${me.token}`, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        })
      for (const path of ['/api/ai/status', '/api/ai/sessions', `/api/ai/sessions/${session.id}`])
        expect([path, (await call(path)).status]).toEqual([path, 404])
      expect((await call('/api/ai/sessions', 'POST', {})).status).toBe(404)
    } finally {
      await quiet.app.db.delete(siteSettings).where(eq(siteSettings.key, 'assistant'))
      await own.close()
    }
  })

  test('is refused in a team that switched it off', async () => {
    const { me, session } = await ready()
    expect((await ask(me, session, 'folder?')).sources).toHaveLength(1)
    const { body } = await me.fetch<{ settings: object }>('GET', `/api/teams/${me.organizationId}`)
    const off = await me.fetch('PATCH', `/api/teams/${me.organizationId}`, {
      settings: { ...body.settings, assistant: false },
    })
    expect(off.status).toBe(200)
    expect((await ask(me, session, 'folder?')).sources).toEqual([])
    expect((await me.fetch<AiStatus>('GET', '/api/ai/status')).body.team).toBe(false)
  })

  test('puts chats into their owner’s export only, and deletes them with the account', async () => {
    const { me, session } = await ready()
    await ask(me, session, 'Which folder is locked?')
    const colleague = await member(t, me, 'admin')
    const lines = async (who: Person) =>
      ((await who.fetch<{ text: string }>('GET', '/api/sync/export?format=ndjson')).body.text ?? '').split('\n')
    expect((await lines(me)).find((line) => line.startsWith('{"chat"'))).toContain('Which folder is locked?')
    expect((await lines(colleague)).join()).not.toContain('Which folder is locked?')
    await me.fetch('PATCH', `/api/teams/${me.organizationId}/members/${colleague.userId}`, { role: 'owner' })
    expect((await me.fetch('DELETE', '/api/auth/account', { confirm: me.email })).status).toBe(200)
    expect(await t.app.db.$count(aiSessions, eq(aiSessions.id, session.id))).toBe(0)
    expect(await t.app.db.$count(aiMessages, eq(aiMessages.sessionId, session.id))).toBe(0)
  })
})

test('the server refuses a time limit for whole answers that is below the limit for the first word', () => {
  const env = { DATA_DIR: '/nowhere', CHAT_TIMEOUT_SECONDS: '120', CHAT_MAX_SECONDS: '120' }
  expect(() => loadConfig({ env })).toThrow('CHAT_MAX_SECONDS must be greater')
})

test('a refused question leaves nothing running', async () => {
  const started = spyOn(globalThis, 'setInterval')
  const request = new Request(t.url, { headers: { accept: 'text/event-stream' } })
  const refused = await streamAnswer(request, () => Promise.reject(new Error('refused'))).catch(
    (error: Error) => error.message,
  )
  const timers = started.mock.calls.filter(([, ms]) => ms === 10_000)
  started.mockRestore()
  expect([refused, timers]).toEqual(['refused', []])
})

describe('tutti ask', () => {
  test('prints only the sources that the answer cites, each with the address of its page', async () => {
    const { me } = await ready()
    await write(me, { title: 'Other locks', content: 'The folder is locked by nobody else.' })
    await indexed(t)
    chat.script(ChatServer.says('It is locked [1]. See [9] ', 'and https://evil.example.'))
    const config = mkdtempSync(join(tmpdir(), 'tutti-ask-'))
    const profile = { server: t.url, kind: 'api_key', token: await apiKey(t, me, ['read', 'write']) }
    mkdirSync(join(config, 'tutti'))
    const credentials = JSON.stringify({ current: 'me', profiles: { me: profile } })
    writeFileSync(join(config, 'tutti', 'credentials.json'), credentials, { mode: 0o600 })
    const cli = join(import.meta.dir, '../../cli/index.ts')
    const run = Bun.spawn([process.execPath, cli, 'ask', 'Is the folder locked?'], {
      env: { ...process.env, XDG_CONFIG_HOME: config, NO_COLOR: '1' },
      cwd: config,
      stderr: 'pipe',
    })
    const [out, err] = [await new Response(run.stdout).text(), await new Response(run.stderr).text()]
    rmSync(config, { recursive: true })
    expect([await run.exited, err]).toEqual([0, expect.stringContaining('Continue with')])
    const [answer, , ...sources] = out.trim().split('\n')
    expect(answer).toBe('It is locked [1]. See and (link removed).')
    expect(sources).toEqual([expect.stringMatching(/^\[1\] note .*locks {2}http:\/\/[^ ]+\/notes\/[0-9a-f-]{36}$/i)])
    const address = (sources[0] as string).split('  ').at(-1) as string
    const page = await fetch(address, { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  })
})
