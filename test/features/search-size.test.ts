import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Suggestions } from '../../src/features/search/schema.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { search } from './search-support.ts'

/**
 * A search of a team with many passages looks for very common words only in the newest ones. The passages are those of
 * memories, which search shows without looking at the memory.
 */
const PASSAGES = 6000
let t: TestApp
let ada: Person

/** The words of passages by age: 1 is the newest. */
const words = `'common' || case when n <= 150 then ' fresh' else '' end
  || case when n % 2000 = 0 or n = 5999 then ' zebra' else '' end
  || case when n = 5998 then ' fresh' else '' end || case when n <= 1500 then ' recently' else '' end`

beforeAll(async () => {
  t = await testApp()
  ada = await person(t)
  await t.app.driver.query(
    `insert into passages (id, kind, record_id, organization_id, chunk, title, content, tags, importance, at)
      select gen_random_uuid(), 'memory', gen_random_uuid(), $1::uuid, 0, ${words} || ' ' || n, 'text', '{}', 0.5,
        now() - n * interval '1 minute'
      from generate_series(1, ${PASSAGES}) n`,
    [ada.organizationId],
  )
  await t.app.driver.exec('analyze passages')
})
afterAll(() => t.close())

/** The ages of the passages found, and how many there were. */
const found = async (q: string): Promise<{ total: number | undefined; ages: number[] }> => {
  const { items } = await search(ada, q, '&limit=50')
  const [group] = items
  return { total: group?.total, ages: (group?.items ?? []).map(({ title }) => Number(title.split(' ').at(-1))) }
}
const suggested = async (q: string): Promise<string[]> =>
  (await ada.fetch<Suggestions>('GET', `/api/search/suggestions?limit=5&q=${q}`)).body.items.map(({ title }) => title)
const newest = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1)

describe('search among many passages', () => {
  test('finds the newest with a common word', async () => {
    expect(await found('common')).toEqual({ total: 1000, ages: newest(50) })
    expect(await found('comm')).toEqual({ total: 1000, ages: newest(50) })
    expect(await found('recently')).toEqual({ total: 1000, ages: newest(50) })
  })

  test('finds every one with a rare word, however old', async () => {
    expect(await found('zebra')).toEqual({ total: 4, ages: [2000, 4000, 5999, 6000] })
    expect(await found('common zebra')).toMatchObject({ total: 4 })
  })

  test('finds an old one with a word that is common only among the newest', async () => {
    const { total } = await found('fresh')
    expect(total).toBe(151)
    expect((await found('fresh 5998')).ages).toEqual([5998])
  })

  test('suggests the newest titles with a common word, and all with a rare one', async () => {
    expect(await suggested('comm')).toEqual(newest(5).map((n) => `common fresh recently ${n}`))
    expect(await suggested('zeb')).toEqual([2000, 4000, 5999, 6000].map((n) => `common zebra ${n}`))
    expect(await suggested('fresh 5998')).toEqual(['common fresh 5998'])
  })

  test('includes other owners, and puts titles that begin with the text first, however old', async () => {
    const add = (title: string, owner: string, days: number) =>
      t.app.driver.query(
        `insert into passages (id, kind, record_id, ${owner}, chunk, title, content, tags, importance, at)
          values (gen_random_uuid(), 'memory', gen_random_uuid(), $1::uuid, 0, $2, 'text', '{}', 0.5,
            now() - $3::int * interval '1 day')`,
        [owner === 'user_id' ? ada.userId : ada.organizationId, title, days],
      )
    await add('common common common mine', 'user_id', 0)
    await add('Recently done', 'organization_id', 400)
    await add('More recently', 'user_id', 500)
    const { items } = await search(ada, 'common')
    expect(items[0]?.items[0]).toMatchObject({ title: 'common common common mine', organizationId: null })
    expect(await suggested('recently')).toEqual([
      'Recently done',
      ...newest(4).map((n) => `common fresh recently ${n}`),
    ])
    expect(await suggested('common')).toEqual([
      'common common common mine',
      ...newest(4).map((n) => `common fresh recently ${n}`),
    ])
    expect(await suggested('more rec')).toEqual(['More recently'])
    await t.app.driver.exec(`delete from passages where at < now() - interval '300 days' or user_id is not null`)
  })

  test('finds only passages that the caller can see', async () => {
    const mallory = await person(t)
    expect((await search(mallory, 'common')).items).toEqual([])
  })
})
