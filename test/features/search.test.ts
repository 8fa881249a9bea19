import { beforeAll, describe, expect, test } from 'bun:test'
import type { FoundGroups } from '../../src/features/search/schema.ts'
import { searchNames } from '../../src/records/names.ts'
import { apiKey, call, member, type Person, person, type TestApp, testApp, unique } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { oneOfEach, titled } from '../support/records.ts'
import { indexed, matches, newProject, newWord, plain, search, titles, write } from './search-support.ts'
import { expectNoEvents, expectRefusal, times, watch } from './support.ts'

let t: TestApp
let ada: Person
beforeAll(async () => {
  // Nothing happens behind our back: what is indexed, a test has said so.
  t = watch(await testApp({ background: 'off' }))
  atEnd(() => t.close())
  ada = await person(t)
})

const make = async (who: Person, path: string, body: object): Promise<{ id: string }> => {
  const { status, headers, body: answer } = await who.fetch('POST', path, body)
  expect([path, status, answer]).toEqual([path, 201, answer])
  return { id: headers.get('location')?.split('/').at(-1) as string }
}

/** Creates one record of each kind that search finds, with the word in its title. */
const oneOfEachTitled = (who: Person, word: string) => oneOfEach(who, { kinds: searchNames, words: titled(word) })

describe('GET /api/search', () => {
  test('finds every kind of record, grouped by kind, with counts and addresses', async () => {
    const word = newWord()
    const made = await oneOfEachTitled(ada, word)
    await indexed(t)
    const answer = await ada.fetch<FoundGroups>('GET', `/api/search?q=${word}`)
    expect(answer.status).toBe(200)
    expect(answer.body.nextCursor).toBeNull()
    expect(answer.body.items.map((group) => group.kind).sort()).toEqual([...searchNames].sort())
    for (const { kind, total, items } of answer.body.items) {
      expect([kind, total, items.map((item) => item.id)]).toEqual([kind, 1, [made[kind].id]])
      const [item] = items as [FoundGroups['items'][0]['items'][0]]
      expect(item).toMatchObject({ kind, organizationId: ada.organizationId })
      expect([kind, matches([...item.highlight.title, ...item.highlight.text])]).toEqual([
        kind,
        expect.arrayContaining([word]),
      ])
      const opened = await ada.fetch<{ id: string; key?: string; slug?: string }>('GET', item.path)
      expect([item.path, opened.status, opened.body.id]).toEqual([item.path, 200, made[kind].id])
      expect([kind, item.key]).toEqual([kind, opened.body.key ?? opened.body.slug ?? null])
    }
    await expectNoEvents(t, answer)
  })

  test('finds only the requested kinds and the requested project', async () => {
    const word = newWord()
    const made = await oneOfEachTitled(ada, word)
    const other = await newProject(ada, { name: `Other ${word}` })
    await indexed(t)
    const found = async (more: string) => (await search(ada, word, more)).items.map((group) => group.kind).sort()
    expect(await found('&kinds=note')).toEqual(['note'])
    expect(await found('&kinds=task,note')).toEqual(['note', 'task'])
    expect(await found(`&projectId=${other.id}`)).toEqual(['project'])
    expect(
      (await search(ada, word, `&projectId=${made.project.id}&kinds=project`)).items[0]?.items.map((i) => i.id),
    ).toEqual([made.project.id])
  })

  test('puts title matches before text matches, and counts all beyond the limit', async () => {
    const word = newWord()
    await write(ada, {
      title: 'Elsewhere',
      content: `Long before anybody says ${word}, ${'something else '.repeat(50)}`,
    })
    await write(ada, { title: `All about ${word}` })
    await Promise.all(times(4, (i) => write(ada, { title: `More ${i}`, content: `${word} again` })))
    await indexed(t)
    const all = await search(ada, word)
    expect(titles(all)[0]).toBe(`All about ${word}`)
    expect(all.items).toMatchObject([{ kind: 'note', total: 6 }])
    expect(titles(all)).toHaveLength(6)
    const few = await search(ada, word, '&limit=2')
    expect([few.items[0]?.total, titles(few)]).toEqual([6, titles(all).slice(0, 2)])
    const scores = all.items[0]?.items.map((item) => item.score) as number[]
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  test('returns a long record once, with its matching passage', async () => {
    const word = newWord()
    const note = await write(ada, {
      title: 'Long',
      content: `${'lorem ipsum '.repeat(500)} ${word} ${'dolor sit '.repeat(500)} ${word}`,
    })
    await indexed(t)
    const { items } = await search(ada, word)
    expect(items).toMatchObject([{ kind: 'note', total: 1, items: [{ id: note.id }] }])
    const text = items[0]?.items[0]?.highlight.text ?? []
    expect(matches(text)).toEqual([word])
    expect(text[0]).toEqual({ text: '…' })
    expect(plain(text).length).toBeLessThan(300)
  })

  test('matches other word forms, the beginning of the last word, phrases, exclusions and alternatives', async () => {
    const word = newWord()
    await write(ada, { title: `${word} one`, content: 'We deployed the red engine.' })
    await write(ada, { title: `${word} two`, content: 'The engine, painted red, runs.' })
    await write(ada, { title: `${word} three`, content: 'A violin.' })
    await indexed(t)
    const found = async (q: string) =>
      titles(await search(ada, q))
        .map((title) => title.split(' ')[1])
        .sort()
    expect(await found(`${word} deploying`)).toEqual(['one'])
    expect(await found(`${word} engines`)).toEqual(['one', 'two'])
    expect(await found(`${word} depl`)).toEqual(['one'])
    expect(await found(word.slice(0, -1))).toEqual(['one', 'three', 'two'])
    // Only the last word is still being typed.
    expect(await found(`depl ${word}`)).toEqual([])
    expect(await found(`${word} "red engine"`)).toEqual(['one'])
    expect(await found(`${word} -engine`)).toEqual(['three'])
    expect(await found(`${word} violin or ${word} painted`)).toEqual(['three', 'two'])
    expect(await found(`${word} violin or ${word} pain`)).toEqual(['three', 'two'])
    expect(await found(`${word} the`)).toEqual(['one', 'three', 'two'])
  })

  test('returns nothing for an empty query, and accepts any text', async () => {
    for (const q of [
      '',
      ' ',
      '"',
      '""',
      '-',
      '- -',
      'or',
      'or or',
      '!&|',
      ':*',
      "'",
      '\\',
      '((',
      '<->',
      '🎼',
      'a:b',
      '"unclosed',
      'x'.repeat(200),
      '%',
      "';--",
    ])
      expect([q, (await ada.fetch('GET', `/api/search?q=${encodeURIComponent(q)}`)).status]).toEqual([q, 200])
    expect((await ada.fetch('GET', '/api/search')).body).toEqual({ items: [], nextCursor: null })
  })

  test.each([
    'q=a&limit=0',
    'q=a&limit=51',
    'q=a&kinds=user',
    'q=a&kinds=note,',
    'q=a&projectId=zz',
    `q=${'x'.repeat(201)}`,
    'q=a&page=2',
  ])('refuses %s', async (query) => {
    await expectRefusal(t, await ada.fetch('GET', `/api/search?${query}`), 422, 'invalid')
  })

  test('does not find expired memories', async () => {
    const word = newWord()
    const project = await newProject(ada)
    const memory = { title: word, content: 'x', scope: 'project', scopeId: project.id }
    await make(ada, '/api/memories', { ...memory, expiresAt: new Date(Date.now() - 1000).toISOString() })
    const kept = await make(ada, '/api/memories', {
      ...memory,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    await indexed(t)
    expect((await search(ada, word)).items.flatMap((group) => group.items.map((item) => item.id))).toEqual([kept.id])
  })
})

describe('search with a typing error', () => {
  test('finds similar words if no exact ones exist', async () => {
    const me = await person(t)
    await write(me, { title: 'Deployment checklist', content: 'Rollback first.' })
    await indexed(t)
    const found = await search(me, 'deplyoment')
    expect([titles(found), found.corrected]).toEqual([['Deployment checklist'], 'deployment'])
    expect((await search(me, 'deploymnt chekclist')).corrected).toBe('deployment checklist')
    // Nothing to correct, or an intended spelling.
    for (const q of ['deployment', 'entirely different', '"deplyoment"', 'deplyoment -rollback'])
      expect([q, (await search(me, q)).corrected]).toEqual([q, undefined])
  })

  test('is not corrected by words of other users’ records', async () => {
    const [me, other] = [await person(t), await person(t)]
    await write(other, { title: 'Deployment checklist' })
    await indexed(t)
    expect(await search(me, 'deplyoment')).toEqual({ items: [], nextCursor: null })
  })
})

describe('the excerpt of a hit', () => {
  test('is plain text in pieces, with markup as written and without invisible characters', async () => {
    const word = newWord()
    const html = `<script>alert(1)</script> <mark>${word}</mark> & "${word}" \u202Etxet\u202C \u0001${word}\u0002 zero\u200bwidth`
    await write(ada, { title: `<b>${word}</b>`, content: html })
    await indexed(t)
    const [hit] = (await search(ada, word)).items[0]?.items ?? []
    expect(hit?.highlight.title).toEqual([{ text: '<b>' }, { text: word, match: true }, { text: '</b>' }])
    expect(plain(hit?.highlight.text ?? [])).toBe(
      `<script>alert(1)</script> <mark>${word}</mark> & "${word}" txet ${word} zerowidth`,
    )
    expect(matches(hit?.highlight.text ?? [])).toEqual([word, word, word])
  })

  test('marks the right characters in every script', async () => {
    const word = newWord()
    await write(ada, { title: 'x', content: `🎼🎼 Grüße, 你好 𝒳 — ${word}! 👩‍👩‍👧 naïve` })
    await indexed(t)
    const text = (await search(ada, word)).items[0]?.items[0]?.highlight.text ?? []
    expect(text).toEqual([{ text: '🎼🎼 Grüße, 你好 𝒳 — ' }, { text: word, match: true }, { text: '! 👩‍👩‍👧 naïve' }])
  })

  // Postgres' own parser takes time that grows with the square of such a text.
  test.each(['./', '/~', '_a', 'a1@', '<!--', '&a;', 'a-', 'a '])(
    'of text that is hard to parse (%s …) does not block the database',
    async (part) => {
      const word = newWord()
      await write(ada, { title: word, content: `${word} ${part.repeat(100_000 / part.length)}` })
      await indexed(t)
      expect(titles(await search(ada, word))).toEqual([word])
      expect(
        (await ada.fetch('GET', `/api/search?q=${encodeURIComponent(part.repeat(200 / part.length))}`)).status,
      ).toBe(200)
    },
  )
})

/** In quotes, so that it is not taken for a slip of somebody else's word. */
const countsOf = async (who: Person, word: string) =>
  (await search(who, `"${word}"`)).items.map(({ kind, total }) => `${kind} ${total}`).sort()

describe('search results', () => {
  test('contain the kinds that a key can read', async () => {
    const word = newWord()
    await oneOfEachTitled(ada, word)
    await indexed(t)
    const found = async (...scopes: string[]) => {
      const headers = { authorization: `Bearer ${await apiKey(t, ada, scopes)}` }
      const { status, body } = await call<FoundGroups>(t, 'GET', `/api/search?q=${word}`, undefined, headers)
      return status === 200 ? body.items.map((group) => group.kind).sort() : status
    }
    expect(await found('read')).toEqual([...searchNames].sort())
    expect(await found('notes:read')).toBe(403)
    expect(await found('search:read')).toEqual([])
    expect(await found('search:read', 'notes:read', 'tasks:write')).toEqual(['epic', 'note', 'story', 'task'])
  })

  test('of a team are invisible to strangers, and the same for viewers and members', async () => {
    const word = newWord()
    const made = await oneOfEachTitled(ada, word)
    await indexed(t)
    const [stranger, viewer] = [await person(t), await member(t, ada, 'viewer')]
    expect(await search(stranger, word)).toEqual({ items: [], nextCursor: null })
    expect(await search(stranger, word, `&projectId=${made.project.id}`)).toEqual({ items: [], nextCursor: null })
    // The goals of a session are private.
    expect((await search(viewer, word)).items.map((group) => group.kind).sort()).toEqual(
      searchNames.filter((k) => k !== 'session').sort(),
    )
    await write(stranger, { title: word })
    await indexed(t)
    expect(await search(stranger, word)).toMatchObject({ items: [{ kind: 'note', total: 1 }] })
  })

  test('include private projects for people who see them, and personal notes for their author', async () => {
    const word = newWord()
    const [owner, admin, colleague] = [ada, await member(t, ada, 'admin'), await member(t, ada, 'member')]
    const secret = await newProject(colleague, { name: `Secret ${word}`, visibility: 'private' })
    await write(colleague, { title: `Hidden ${word}`, projectId: secret.id })
    await make(colleague, `/api/projects/${secret.id}/tasks`, { title: `Hidden ${word}` })
    await write(colleague, { title: `Diary ${word}`, scope: 'personal' })
    const other = await member(t, ada, 'member')
    await indexed(t)
    const counts = (who: Person) => countsOf(who, word)
    expect(await counts(colleague)).toEqual(['note 2', 'project 1', 'task 1'])
    for (const who of [owner, admin]) expect(await counts(who)).toEqual(['note 1', 'project 1', 'task 1'])
    expect(await counts(other)).toEqual([])
  })

  test('leave out records that were deleted or hidden a moment ago, before the index follows', async () => {
    const word = newWord()
    const team = await person(t)
    const other = await member(t, team, 'member')
    const secret = await newProject(team, { visibility: 'private' })
    const one = (title: string) => write(team, { title: `${title} ${word}` })
    const [gone, mine, hidden] = [await one('gone'), await one('mine'), await one('hidden'), await one('left')] as const
    await indexed(t)
    expect((await search(other, word)).items).toMatchObject([{ kind: 'note', total: 4 }])
    await team.fetch('DELETE', `/api/notes/${gone.id}`)
    await team.fetch('PUT', `/api/notes/${mine.id}`, { scope: 'personal' })
    await team.fetch('PUT', `/api/notes/${hidden.id}`, { projectId: secret.id })
    const found = await search(other, word)
    expect([found.items[0]?.total, titles(found)]).toEqual([1, [`left ${word}`]])
    const suggested = await other.fetch<{ items: { title: string }[] }>('GET', `/api/search/suggestions?q=${word}`)
    expect(suggested.body.items.map((item) => item.title)).toEqual([`left ${word}`])
  })

  test('are not displaced by many identical texts of another user', async () => {
    const word = newWord()
    const [me, loud] = [await person(t), await person(t)]
    await write(me, { title: unique('quiet'), content: word })
    await Promise.all(times(30, () => write(loud, { title: word, content: `${word} ${word}` })))
    await indexed(t)
    expect((await search(me, word, '&limit=1')).items).toMatchObject([{ kind: 'note', total: 1 }])
  })
})
