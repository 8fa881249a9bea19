import { beforeAll, describe, expect, test } from 'bun:test'
import type { Suggestions } from '../../src/features/search/schema.ts'
import { countTypos } from '../../src/features/search/suggest.ts'
import { apiKey, call, member, type Person, person, type TestApp, testApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { indexed, newProject, write } from './search-support.ts'
import { expectNoEvents, expectRefusal, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await testApp({ background: 'off' }))
  atEnd(() => t.close())
})

const suggest = async (who: Pick<Person, 'fetch'>, q: string, more = ''): Promise<string[]> => {
  const { status, body } = await who.fetch<Suggestions>(
    'GET',
    `/api/search/suggestions?q=${encodeURIComponent(q)}${more}`,
  )
  expect([q, status]).toEqual([q, 200])
  return body.items.map((item) => item.title)
}

async function withTitles(...list: string[]): Promise<Person> {
  const who = await person(t)
  for (const title of list) await write(who, { title })
  await indexed(t)
  return who
}

describe('suggestions', () => {
  test('contain titles by the beginnings of their words, with their addresses', async () => {
    const me = await withTitles('How we deploy', 'Deployment checklist', 'Runbook')
    const answer = await me.fetch<Suggestions>('GET', '/api/search/suggestions?q=depl')
    // A title that begins so comes first.
    expect(answer.body.items.map((item) => item.title)).toEqual(['Deployment checklist', 'How we deploy'])
    expect(answer.body.nextCursor).toBeNull()
    const [first] = answer.body.items
    expect(first).toEqual({
      kind: 'note',
      id: first?.id as string,
      title: 'Deployment checklist',
      path: `/api/notes/${first?.id}`,
      organizationId: me.organizationId,
      projectId: null,
      key: expect.stringMatching(/^deployment-checklist-/),
      status: null,
    })
    await expectNoEvents(t, answer)
    expect(await suggest(me, 'we dep')).toEqual(['How we deploy'])
    expect(await suggest(me, 'DEP HOW')).toEqual(['How we deploy'])
    expect(await suggest(me, 'r')).toEqual(['Runbook'])
    expect(await suggest(me, 'deployment x')).toEqual([])
  })

  test('put the newest first among titles that contain the word later, even if an older one is closer', async () => {
    const me = await withTitles('The comm')
    await write(me, { title: 'A communication' })
    await indexed(t)
    await t.app.driver.query(`update passages set at = at - interval '1 day' where title = 'The comm'`)
    expect(await suggest(me, 'comm')).toEqual(['A communication', 'The comm'])
  })

  test('contain tasks by their key, even before they are indexed, for people who see them', async () => {
    const me = await person(t)
    const other = await person(t)
    const { slug, key } = (
      await me.fetch<{ slug: string; key: string }>('POST', '/api/projects', { name: 'Lantern', key: 'LANT' })
    ).body
    for (let n = 1; n <= 11; n++) await me.fetch('POST', `/api/projects/${slug}/tasks`, { title: `Step ${n}` })
    expect(await suggest(me, `${key}-1`)).toEqual(['Step 1', 'Step 10', 'Step 11'])
    expect(await suggest(me, 'lant-11')).toEqual(['Step 11'])
    const { items } = (await me.fetch<Suggestions>('GET', `/api/search/suggestions?q=${key}-11`)).body
    expect(items).toMatchObject([{ kind: 'task', key: `${key}-11`, status: 'todo' }])
    expect(await suggest(other, `${key}-1`)).toEqual([])
    expect(await suggest(me, `${key}-1`, '&kinds=note')).toEqual([])
    expect(await suggest(me, `${key}-1`, `&projectId=${Bun.randomUUIDv7()}`)).toEqual([])
    expect(await suggest(me, `${key}-99`)).toEqual([])
    await me.fetch('DELETE', `/api/tasks/${key}-11`)
    expect(await suggest(me, `${key}-11`)).toEqual([])
  })

  test('tolerate typing errors: more in longer words, none in short ones', async () => {
    const me = await withTitles('Deployment checklist', 'Cat pictures', 'Über naïve Ünterhaltung')
    for (const q of [
      'deplyoment',
      'depoyment',
      'deploymment',
      'deplozment',
      'edployment',
      'deployent',
      'dpeloy',
      'Deplyoment chekclist',
    ])
      expect([q, await suggest(me, q)]).toEqual([q, ['Deployment checklist']])
    for (const q of ['car', 'cta', 'dqplqyment', 'xyz', 'loyment']) expect([q, await suggest(me, q)]).toEqual([q, []])
    expect(await suggest(me, 'ünterhlatung')).toEqual(['Über naïve Ünterhaltung'])
  })

  test('put exact matches before similar ones, without duplicates', async () => {
    const me = await withTitles('Billing', 'Filling station', 'Billings')
    expect(await suggest(me, 'billing')).toEqual(['Billings', 'Billing'])
    expect((await suggest(me, 'bililng')).toSorted()).toEqual(['Billing', 'Billings'])
  })

  test('contain titles only, each record once, at most ten, of the requested kinds and project', async () => {
    const me = await person(t)
    const project = await newProject(me, { name: 'Engine room' })
    await write(me, { title: 'Elsewhere', content: 'engine' })
    await write(me, { title: 'Engine log', content: 'words '.repeat(2000), projectId: project.id })
    await Promise.all(times(12, (i) => write(me, { title: `Piston ${i}` })))
    await indexed(t)
    expect((await suggest(me, 'engine')).toSorted()).toEqual(['Engine log', 'Engine room'])
    expect(await suggest(me, 'engine', '&kinds=project')).toEqual(['Engine room'])
    expect(await suggest(me, 'engine', `&projectId=${project.id}&kinds=note`)).toEqual(['Engine log'])
    expect(await suggest(me, 'piston')).toHaveLength(10)
    expect(await suggest(me, 'piston', '&limit=3')).toHaveLength(3)
  })

  test('are empty for an empty query, and no query text causes an error', async () => {
    const me = await withTitles('Deploy')
    for (const q of [
      '',
      ' ',
      '"',
      "'",
      '\\',
      ':*',
      '!',
      '(',
      '🎼',
      '<->',
      "';--",
      'a&b',
      'x'.repeat(200),
      'a '.repeat(100),
    ])
      expect([q, await suggest(me, q)]).toEqual([q, []])
    expect((await me.fetch('GET', '/api/search/suggestions')).body).toEqual({ items: [], nextCursor: null })
    for (const query of ['limit=11', 'limit=0', 'kinds=x', 'projectId=1', `q=${'x'.repeat(201)}`, 'cursor=x'])
      await expectRefusal(t, await me.fetch('GET', `/api/search/suggestions?${query}`), 422, 'invalid')
  })

  test('contain only records that the caller can see, for exact and for similar words', async () => {
    const team = await withTitles('Acquisition of Initech')
    const colleague = await member(t, team, 'viewer')
    const stranger = await person(t)
    const secret = await newProject(team, { name: 'Acquisition secrets', visibility: 'private' })
    await write(team, { title: 'Acquisition price', projectId: secret.id })
    await write(team, { title: 'Acquisition diary', scope: 'personal' })
    await indexed(t)
    for (const q of ['acquisition', 'acqiusition', 'acqu']) {
      expect([q, await suggest(colleague, q)]).toEqual([q, ['Acquisition of Initech']])
      expect([q, await suggest(stranger, q)]).toEqual([q, []])
      expect([q, (await suggest(team, q)).length]).toEqual([q, 4])
    }
    const key = await apiKey(t, team, ['search:read', 'projects:read'])
    const narrow = {
      fetch: (m: string, p: string) => call(t, m, p, undefined, { authorization: `Bearer ${key}` }),
    } as Pick<Person, 'fetch'>
    expect(await suggest(narrow, 'acqu')).toEqual(['Acquisition secrets'])
    await team.fetch('DELETE', `/api/teams/${team.organizationId}/members/${colleague.userId}`)
    const left = {
      fetch: (m: string, p: string) => call(t, m, p, undefined, { authorization: `Bearer ${colleague.token}` }),
    } as Pick<Person, 'fetch'>
    expect(await suggest(left, 'acqu')).toEqual([])
  })
})

test.each([
  ['deploy', 'deploy', 0],
  ['deploy', 'depoly', 1],
  ['deploy', 'deply', 1],
  ['deploy', 'deployy', 1],
  ['deploy', 'dexloy', 1],
  ['', 'abc', 3],
  ['abc', '', 3],
  ['kitten', 'sitting', 3],
])('the typing distance from %s to %s is %d', (a, b, n) => {
  expect([countTypos(a, b), countTypos(b, a)]).toEqual([n, n])
})

test('the typing distance to a prefix ignores the rest of the word', () => {
  expect(countTypos('depl', 'deployment', true)).toBe(0)
  expect(countTypos('dpel', 'deployment', true)).toBe(1)
  expect(countTypos('deployment', 'depl', true)).toBe(6)
})
