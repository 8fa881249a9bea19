import { beforeAll, describe, expect, test } from 'bun:test'
import type { PublicFoundList } from '../../src/features/site/schema.ts'
import { call, mcpToken, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { matches, newProject, newWord, plain, write } from './search-support.ts'
import { expectNoEvents, expectRefusal, ownApp, statuses, times, watch } from './support.ts'

let t: TestApp
let ada: Person
let handle: string
beforeAll(async () => {
  t = watch(await testApp({ background: 'off' }))
  atEnd(() => t.close())
  ada = await person(t, { name: 'Ada Lovelace' })
  handle = (await ada.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle
})

const search = async (q: string, more = ''): Promise<PublicFoundList['items']> => {
  const { status, body } = await call<PublicFoundList>(t, 'GET', `/api/search/public?q=${encodeURIComponent(q)}${more}`)
  expect([status, body]).toEqual([200, body])
  return body.items
}
const named = async (q: string, more = '') =>
  (await search(q, more)).map(({ kind, title }) => `${kind} ${title}`).sort()
const slugOf = async (who: Person) => (await who.fetch<{ slug: string }>('GET', '/api/team')).body.slug

describe('public search', () => {
  test('finds documents, notes, projects, skills and agents for anyone, with their addresses', async () => {
    const word = newWord()
    const project = await newProject(ada, { name: `Project ${word}`, visibility: 'public' })
    const doc = await write(ada, { title: `Doc ${word}`, scope: 'public', projectId: project.id })
    const note = await write(ada, {
      title: `Note ${word}`,
      content: `All about ${word} & <b>more</b>`,
      scope: 'public',
    })
    for (const kind of ['Skill', 'Agent'])
      await ada.fetch('POST', `/api/${kind.toLowerCase()}s`, { name: `${kind} ${word}`, scope: 'public' })
    expect(await named(word)).toEqual([
      `agent Agent ${word}`,
      `doc Doc ${word}`,
      `note Note ${word}`,
      `project Project ${word}`,
      `skill Skill ${word}`,
    ])
    const found = await search(word)
    for (const { path, author, highlight, kind } of found) {
      expect([kind, author, matches(highlight.title)]).toEqual([kind, { handle, name: 'Ada Lovelace' }, [word]])
      expect([path, (await call(t, 'GET', path)).status]).toEqual([path, 200])
    }
    expect(found.find((item) => item.kind === 'doc')?.path).toBe(
      `/api/public/docs/${await slugOf(ada)}/${project.slug}/${doc.slug}`,
    )
    const { highlight, updatedAt } = found.find((item) => item.kind === 'note') as PublicFoundList['items'][0]
    expect([plain(highlight.text), updatedAt]).toEqual([`All about ${word} & <b>more</b>`, note.updatedAt])
    expect(await named(word, '&kinds=doc,agent')).toEqual([`agent Agent ${word}`, `doc Doc ${word}`])
    expect(await named(word, '&kinds=note')).toEqual([`note Note ${word}`])
    expect(await search(word, '&limit=2')).toHaveLength(2)
    expect(await named(word.slice(0, -2))).toHaveLength(5)
  })

  test('finds people who published something, by name and handle, and no other data of them', async () => {
    const word = newWord()
    const [open, silent] = [await person(t, { name: `Open ${word}` }), await person(t, { name: `Silent ${word}` })]
    await write(silent, { title: 'Team only' })
    expect(await named(word)).toEqual([])
    await write(open, { title: 'For all', scope: 'public' })
    const { body: me } = await open.fetch<{ handle: string }>('GET', '/api/auth/me')
    const found = await search(word)
    expect(found).toEqual([
      {
        kind: 'profile',
        title: `Open ${word}`,
        path: `/u/${me.handle}`,
        author: { handle: me.handle, name: `Open ${word}` },
        updatedAt: null,
        highlight: { title: [{ text: 'Open ' }, { text: word, match: true }], text: [] },
      },
    ])
    expect(await (await fetch(t.url + found[0]?.path)).text()).toContain(`<h1>Open ${word}</h1>`)
    expect(await named(me.handle, '&kinds=profile')).toEqual([`profile Open ${word}`])
    expect(await search(open.email)).toEqual([])
  })

  test('finds sections of the manual, each with a path that opens its page', async () => {
    const found = await search('"resume_session"', '&kinds=manual')
    expect(found.length).toBeGreaterThan(2)
    for (const { kind, path, author, highlight } of found) {
      expect([kind, author, matches(highlight.text).length > 0]).toEqual(['manual', null, true])
      const [page, anchor] = path.split('#')
      const text = await (await fetch(`${t.url}${page}`)).text()
      expect([path, anchor === undefined || text.includes(`id="${anchor}"`)]).toEqual([path, true])
    }
    // Beside other kinds they come last, and leave room for records.
    const kinds = (await search('session')).map(({ kind }) => kind)
    expect([kinds.filter((kind) => kind === 'manual').length, kinds.at(-1)]).toEqual([5, 'manual'])
    expect(await search(`resume_session -session -context -a ${newWord()}`)).toEqual([])
  })

  test('finds no other records, for any caller', async () => {
    const word = newWord()
    const colleague = await member(t, ada, 'member')
    const closed = await newProject(ada, { name: `Closed ${word}` })
    await newProject(ada, { name: `Secret ${word}`, visibility: 'private' })
    await write(ada, { title: `Team ${word}`, scope: 'team' })
    await write(ada, { title: `Mine ${word}`, scope: 'personal' })
    await write(ada, { title: `Inside ${word}`, projectId: closed.id })
    const open = await newProject(ada, { visibility: 'public' })
    await write(ada, { title: `Work ${word}`, projectId: open.id })
    await ada.fetch('POST', `/api/projects/${open.id}/tasks`, { title: `Task ${word}` })
    await ada.fetch('POST', '/api/specs', {
      title: `Spec ${word}`,
      content: word,
      status: 'approved',
      projectId: open.id,
    })
    for (const kind of ['skills', 'agents'])
      await ada.fetch('POST', `/api/${kind}`, { name: `Team ${word}`, scope: 'team' })
    expect(await search(word)).toEqual([])
    // One's own rights add nothing here.
    for (const who of [ada, colleague])
      expect((await who.fetch('GET', `/api/search/public?q=${word}`)).body).toEqual({ items: [], nextCursor: null })
  })

  test('no longer finds records that were unpublished, deleted or put into a sandbox', async () => {
    const word = newWord()
    const me = await person(t)
    const project = await newProject(me, { name: `Project ${word}`, visibility: 'public' })
    const doc = await write(me, { title: `Doc ${word}`, scope: 'public', projectId: project.id })
    const note = await write(me, { title: `Note ${word}`, scope: 'public' })
    expect(await named(word)).toEqual([`doc Doc ${word}`, `note Note ${word}`, `project Project ${word}`])
    await me.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })
    expect((await search(word)).map(({ kind, path }) => [kind, path])).toEqual([
      ['note', `/api/notes/public/${note.slug}`],
    ])
    await me.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'public' })
    expect(await named(word)).toEqual([`doc Doc ${word}`, `note Note ${word}`, `project Project ${word}`])
    await me.fetch('PUT', `/api/notes/${doc.id}`, { scope: 'team' })
    await me.fetch('DELETE', `/api/notes/${note.id}`)
    expect(await named(word)).toEqual([`project Project ${word}`])
    await me.fetch('POST', `/api/projects/${project.id}/share`, { visibility: 'private' })
    expect(await search(word)).toEqual([])
    const headers = {
      authorization: `Bearer ${await mcpToken(t, me, { kind: 'test' })}`,
      accept: 'application/json, text/event-stream',
    }
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'create_project', arguments: { name: `Sandbox ${word}` } },
    }
    expect((await call(t, 'POST', '/mcp', message, headers)).status).toBe(200)
    expect(await search(word)).toEqual([])
  })

  test('returns an excerpt around the searched words, in any of their spellings', async () => {
    const word = newWord()
    const filler = 'Nothing here. '.repeat(100)
    const content = `${filler}First ${word}, then ${word.toUpperCase()} and ${word}ish.${filler}`
    await write(ada, { title: 'Far away', content, scope: 'public' })
    const [found] = await search(`${word} ${word} -${newWord()}`)
    expect(matches(found?.highlight.text ?? [])).toEqual([word, word.toUpperCase()])
    expect(plain(found?.highlight.text ?? [])).toMatch(/^….*…$/)
    expect(matches((await search(word))[0]?.highlight.text ?? [])).toEqual([word, word.toUpperCase(), `${word}ish`])
    expect(matches((await search(`"first ${word}"`))[0]?.highlight.text ?? [])[0]).toBe('First')
  })

  test('returns nothing for an empty query, and accepts any text', async () => {
    for (const q of [
      '',
      ' ',
      '"',
      "'",
      '\\',
      ':*',
      '-',
      '%',
      '_',
      '🎼',
      '<->',
      "';--",
      'or',
      '"unclosed',
      'x'.repeat(200),
    ])
      await search(q)
    expect((await call(t, 'GET', '/api/search/public')).body).toEqual({ items: [], nextCursor: null })
    expect(await search('%')).toEqual([])
    for (const query of ['limit=51', 'limit=0', 'kinds=user', 'kinds=memory', `q=${'x'.repeat(201)}`, 'projectId=1'])
      await expectRefusal(t, await call(t, 'GET', `/api/search/public?${query}`), 422, 'invalid')
    await expectNoEvents(t, await call(t, 'GET', '/api/search/public?q=a'))
  })
})

test('public search is limited for each network', async () => {
  const limited = await ownApp(undefined, { RATE_LIMIT_ANONYMOUS: '5' })
  try {
    const answers = await Promise.all(times(12, () => call(limited, 'GET', '/api/search/public?q=a')))
    expect(statuses(answers).filter((status) => status === 429).length).toBeGreaterThan(0)
    expect(answers.find((a) => a.status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/)
  } finally {
    await limited.close()
  }
})
