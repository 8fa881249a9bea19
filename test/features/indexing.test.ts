import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq, inArray, sql } from 'drizzle-orm'
import { write } from '../../src/action.ts'
import { records } from '../../src/all-features.ts'
import { machine } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import { meta } from '../../src/db/table.ts'
import { insertEvent } from '../../src/events/event.ts'
import { decisions } from '../../src/features/decisions/table.ts'
import { searchHybrid } from '../../src/features/search/hybrid.ts'
import { followChanges as followOn } from '../../src/features/search/indexing/follow.ts'
import { catchUp, compareAllRecords } from '../../src/features/search/indexing/indexing.ts'
import { RENEWED_AT_ONCE, renewTexts } from '../../src/features/search/indexing/renewal.ts'
import { passages } from '../../src/features/search/table.ts'
import { Records } from '../../src/records/kind.ts'
import type { RecordName, SearchName } from '../../src/records/names.ts'
import { makeEvent } from '../db/events-support.ts'
import { type Answer, mcpToken, member, type Person, person, systemCtx, type TestApp, unique } from '../support/app.ts'
import { type MadeRecord, oneOfEach } from '../support/records.ts'
import { newWord } from './search-support.ts'
import { ctxOf, failure, ownApp, times } from './support.ts'

/** The place in the events is one for the whole database, so it gets one of its own, without anything going on by itself. */
let t: TestApp
let ada: Person
beforeAll(async () => {
  t = await ownApp()
  ada = await person(t)
  await follow()
})
afterAll(() => t.close())

const made = <T extends { id: string }>({ status, body }: Answer<unknown>): T => {
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body as T
}
/** Concurrent calls may be committing events meanwhile. */
const follow = async (ctx = systemCtx(t)) => {
  while ((await catchUp(ctx, {})) === 'waiting') await Bun.sleep(5)
}
const find = async (who: Person, text: string, kind?: SearchName): Promise<string[]> =>
  (await searchHybrid(await who.ctx(), { text, limit: 20, ...(kind && { kinds: [kind] }) }, undefined)).map(
    (hit) => hit.recordId,
  )
const passagesOf = (id: string) =>
  t.app.db
    .select({
      content: passages.content,
      title: passages.title,
      organizationId: passages.organizationId,
      chunk: passages.chunk,
    })
    .from(passages)
    .where(eq(passages.recordId, id))
    .orderBy(passages.chunk)
const project = async (who = ada, extra = {}) =>
  made<{ id: string; slug: string }>(await who.fetch('POST', '/api/projects', { name: unique('Engine'), ...extra }))

describe('the search index', () => {
  // Memories are indexed by their write.
  const kinds = records.followed.map(({ kind }) => kind as SearchName)
  const words = Object.fromEntries(kinds.map((kind) => [kind, newWord()])) as Record<RecordName, string>
  let one: Record<SearchName, MadeRecord>

  beforeAll(async () => {
    one = await oneOfEach(ada, { kinds, words: (kind) => ({ title: 'Title', text: `about ${words[kind]}` }) })
    expect(await Promise.all(kinds.map((kind) => find(ada, words[kind])))).toEqual(kinds.map(() => []))
    await follow()
  })

  test.each(kinds)('finds a %s by the words of its text, after the write and not by it', async (kind) => {
    expect(await find(ada, words[kind])).toEqual([one[kind].id])
    expect(await find(ada, words[kind], kind)).toEqual([one[kind].id])
  })

  test('hides all of them from a stranger', async () => {
    const mallory = await person(t)
    for (const word of Object.values(words)) expect(await find(mallory, word)).toEqual([])
  })
})

describe('after a change, the search index', () => {
  const note = async (who: Person, body: object) =>
    made<{ id: string }>(await who.fetch('POST', '/api/notes', { title: unique('N'), ...body })).id
  const patch = async (who: Person, path: string, body: object) =>
    expect((await who.fetch('PUT', path, body)).status).toBe(200)

  test('finds new words and no old ones, and keeps the passages of unchanged texts', async () => {
    const id = await note(ada, { content: 'an aardvark', scope: 'team' })
    await follow()
    const before = await passagesOf(id)
    await patch(ada, `/api/notes/${id}`, { tags: ['zoo'] })
    await follow()
    expect(await passagesOf(id)).toEqual(before)
    expect(
      (await searchHybrid(await ada.ctx(), { text: 'aardvark', tags: ['zoo'], limit: 5 }, undefined)).map(
        (h) => h.recordId,
      ),
    ).toEqual([id])
    await patch(ada, `/api/notes/${id}`, { content: 'an axolotl' })
    await follow()
    expect(await find(ada, 'aardvark')).toEqual([])
    expect(await find(ada, 'axolotl')).toEqual([id])
  })

  test('leaves no passages behind when a text becomes shorter', async () => {
    const id = await note(ada, { content: `${times(600, (i) => `word${i}`).join(' ')} tardigrade`, scope: 'team' })
    await follow()
    expect((await passagesOf(id)).length).toBeGreaterThan(3)
    expect(await find(ada, 'tardigrade')).toEqual([id])
    await patch(ada, `/api/notes/${id}`, { content: 'short' })
    await follow()
    expect(await passagesOf(id)).toHaveLength(1)
    expect(await find(ada, 'tardigrade')).toEqual([])
  })

  test('drops deleted records and finds restored ones', async () => {
    const id = made<{ id: string }>(
      await ada.fetch('POST', '/api/skills', { name: 'Gecko', scope: 'team', content: 'x' }),
    ).id
    await follow()
    await ada.fetch('DELETE', `/api/skills/${id}`)
    await follow()
    expect(await passagesOf(id)).toEqual([])
    await ada.fetch('POST', `/api/skills/${id}/restore`)
    await follow()
    expect(await find(ada, 'gecko')).toEqual([id])
  })

  test('finds a note that became personal only for its author and a token of their own space', async () => {
    const grace = await member(t, ada, 'member')
    const [own, colleagues] = [await mcpToken(t, ada), await mcpToken(t, grace, { organizationId: ada.organizationId })]
    const asToken = async (token: string) =>
      (await searchHybrid(await ctxOf(t, token), { text: 'pangolin', limit: 5 }, undefined)).map((h) => h.recordId)
    const id = await note(ada, { content: 'a pangolin', scope: 'team' })
    await follow()
    expect(await find(grace, 'pangolin')).toEqual([id])
    expect([await asToken(own), await asToken(colleagues)]).toEqual([[id], [id]])
    await patch(ada, `/api/notes/${id}`, { scope: 'personal' })
    await follow()
    expect(await find(ada, 'pangolin')).toEqual([id])
    expect(await find(grace, 'pangolin')).toEqual([])
    expect([await asToken(own), await asToken(colleagues)]).toEqual([[id], []])
  })

  test('finds a session only for the person who worked in it', async () => {
    const grace = await member(t, ada, 'member')
    const { id } = made<{ id: string }>(await ada.fetch('POST', '/api/sessions', { goals: ['tame the capybara'] }))
    await follow()
    expect(await find(ada, 'capybara', 'session')).toEqual([id])
    expect(await find(grace, 'capybara', 'session')).toEqual([])
  })

  test('compares whole plans, and the records of an epic or a project', async () => {
    const home = await project()
    const compared = () => compareAllRecords(systemCtx(t), { projectId: home.id })
    const plan = {
      epics: [{ title: 'Okapi epic', stories: [{ title: 'Okapi story', tasks: [{ title: 'Okapi task' }] }] }],
    }
    expect((await ada.fetch('POST', `/api/projects/${home.slug}/plan`, plan)).status).toBe(201)
    await follow()
    expect(await jobsFor(home.id)).toBe(1)
    await compared()
    expect(await find(ada, 'okapi')).toHaveLength(3)
    const epics = await ada.fetch<{ items: { id: string }[] }>('GET', `/api/projects/${home.slug}/epics`)
    await ada.fetch('DELETE', `/api/projects/${home.slug}/epics/${epics.body.items[0]?.id}`)
    await follow()
    await compared()
    expect(await find(ada, 'okapi')).toEqual([])
    const rest = await note(ada, { content: 'quoll', scope: 'team', projectId: home.id })
    await follow()
    expect(await find(ada, 'quoll')).toEqual([rest])
    await ada.fetch('DELETE', `/api/projects/${home.slug}`)
    expect(await find(ada, 'quoll')).toEqual([])
    await follow()
    await compared()
    expect(await passagesOf(rest)).toEqual([])
  })
})

const jobsFor = async (key: string): Promise<number> =>
  Number(
    (await t.app.driver.query(`select count(*)::int from jobs where name = 'search.compare' and key = $1`, [key]))
      .rows[0]?.[0],
  )

const position = async () => (await t.app.db.select().from(meta).where(eq(meta.key, 'search.position')))[0]?.value
const setPosition = write('test.setPosition', machine, async (ctx, { value }: { value: string }): Promise<void> => {
  await ctx.db.update(meta).set({ value }).where(eq(meta.key, 'search.position'))
})

describe('indexing', () => {
  const post = async (content: string) =>
    made<{ id: string }>(await ada.fetch('POST', '/api/notes', { title: unique('N'), content, scope: 'team' })).id

  test('keeps its position and the passages when an attempt fails, and the next attempt does all of it', async () => {
    const ids = [await post('kakapo one'), await post('kakapo two')]
    const before = await position()
    const broken = {
      ...t.app,
      records: new Records(
        t.app.records.all.map((record) =>
          record.kind === 'note'
            ? {
                ...record,
                get search(): never {
                  throw new Error('killed')
                },
              }
            : record,
        ),
      ),
    }
    await failure(follow({ ...systemCtx(t), app: broken }))
    expect(await position()).toBe(before)
    expect(await find(ada, 'kakapo')).toEqual([])
    await follow()
    expect((await find(ada, 'kakapo')).sort()).toEqual(ids.sort())
    expect(await position()).not.toBe(before)
  })

  test('is done once by several simultaneous workers', async () => {
    const id = await post('hoatzin')
    await Promise.all(times(4, () => follow()))
    expect(await passagesOf(id)).toHaveLength(1)
  })

  test('writes nothing without new events', async () => {
    await follow()
    const count = async () => (await t.app.driver.query('select count(*) from events')).rows[0]?.[0]
    const before = await count()
    await follow()
    expect(await count()).toBe(before)
  })

  const changed = (subjectId: string, type = 'note.updated') =>
    insertEvent({ ...makeEvent(t.app.instanceId, type), subjectId, organizationId: ada.organizationId })

  test.skipIf(process.env.TEST_DB !== 'postgres')(
    'does not wait for an event that is committed late, and does not miss it',
    async () => {
      const id = await post('first words')
      await follow()
      const late = await t.app.driver.begin()
      const { text, params } = changed(id)
      await late.query(text, params)
      await late.query(`update notes set content = 'kagu', updated_at = now() where id = $1`, [id])
      const others = [await post('cassowary one'), await post('cassowary two')]
      expect(await catchUp(systemCtx(t), {})).toBe('waiting')
      expect((await find(ada, 'cassowary')).sort()).toEqual(others.sort())
      expect(JSON.parse((await position()) as string).holes).toHaveLength(1)
      await late.commit()
      await follow()
      expect(await find(ada, 'kagu')).toEqual([id])
      await post('anything')
      await follow()
      expect(JSON.parse((await position()) as string).holes).toEqual([])
    },
  )

  test('does not wait for a number whose transaction was rolled back', async () => {
    const { text, params } = changed(await post('undone'))
    const undone = await t.app.driver.begin()
    await undone.query(text, params)
    await undone.rollback()
    const id = await post('takahe')
    expect(await catchUp(systemCtx(t), {})).toBe('done')
    expect(await find(ada, 'takahe')).toEqual([id])
  })

  test('reads many events that do not concern search once', async () => {
    await follow()
    const { text, params } = changed(ada.userId, 'probe.nothing')
    const tx = await t.app.driver.begin()
    await tx.commit(times(1100, () => ({ text, params })))
    const reached = async () => Number(JSON.parse((await position()) as string).high)
    const before = await reached()
    await follow()
    const after = await reached()
    expect(after).toBeGreaterThanOrEqual(before + 1000)
    await follow()
    expect(await reached()).toBe(after)
  })

  test('finds earlier records, and those of a restored database, by comparing', async () => {
    const id = await post('saola')
    await setPosition(systemCtx(t), { value: '{"high":99999999999,"holes":[]}' })
    await follow()
    expect(JSON.parse((await position()) as string).high).toBeLessThan(99999999999)
    expect(await jobsFor('all')).toBe(1)
    await compareAllRecords(systemCtx(t), {})
    expect(await find(ada, 'saola')).toEqual([id])
    const later = await post('vaquita')
    await follow()
    expect(await find(ada, 'vaquita')).toEqual([later])
  })

  test('removes passages of records that no longer exist', async () => {
    const id = await post('thylacine')
    await follow()
    await t.app.driver.query('update notes set deleted_at = now() where id = $1', [id])
    await compareAllRecords(systemCtx(t), {})
    expect(await passagesOf(id)).toEqual([])
  })

  test('renews all texts of a kind page by page after an upgrade that reads more of them', async () => {
    const { id } = made<{ id: string }>(await ada.fetch('POST', '/api/decisions', { title: 'Store', decision: 'One' }))
    await follow()
    const count = RENEWED_AT_ONCE + 1
    const copies = times(count, () => newId())
    const [decision] = await t.app.db.select().from(decisions).where(eq(decisions.id, id))
    const [passage] = await t.app.db.select().from(passages).where(eq(passages.recordId, id))
    if (!decision || !passage) throw new Error('not indexed')
    await t.app.db.insert(decisions).values(copies.map((copy) => ({ ...decision, id: copy })))
    await t.app.db.insert(passages).values(copies.map((recordId) => ({ ...passage, id: newId(), recordId })))
    const outdated = async () =>
      (
        await t.app.driver.query(
          `select count(*)::int from passages p join decisions d on d.id = p.record_id where p.at < d.updated_at`,
        )
      ).rows[0]?.[0] as number
    const kept = async () => (await t.app.db.select().from(meta).where(eq(meta.key, 'search.texts'))).length
    await t.app.driver.exec(`delete from meta where key = 'search.texts'`)

    await renewTexts(systemCtx(t), { signal: AbortSignal.abort() })
    expect(await kept()).toBe(0)
    await Promise.all(times(2, () => renewTexts(systemCtx(t), {})))
    expect(await outdated()).toBeGreaterThan(count)
    expect([await kept(), await jobsFor('all')]).toEqual([1, 1])
    await t.app.db.delete(passages).where(inArray(passages.recordId, copies))
    await t.app.db.delete(decisions).where(inArray(decisions.id, copies))
  })

  test('continues with new changes while an upgrade fails', async () => {
    await t.app.driver.exec(`delete from meta where key = 'search.texts'`)
    const warnings: string[] = []
    const all = t.app.records.all.map((record) =>
      record.kind === 'decision' && record.search && record.search !== 'own'
        ? { ...record, search: { ...record.search, grown: sql`1 / 0 = 1` } }
        : record,
    )
    const log = { ...t.app.log, warn: (message: string) => void warnings.push(message) }
    const id = await post('quokka')
    const stop = followOn({ ...t.app, log, records: new Records(all) })
    try {
      const until = Date.now() + 30_000
      while ((await find(ada, 'quokka')).length === 0 && Date.now() < until) await Bun.sleep(20)
      expect(await find(ada, 'quokka')).toEqual([id])
      expect(warnings).toContain('search texts could not be updated, will retry')
    } finally {
      await stop()
    }
  })

  test('continues after a very long text', async () => {
    const ids = await Promise.all(times(3, (i) => post(`${'many words here '.repeat(15_000)} gharial${i}`)))
    const last = await post('gharial at the end')
    await follow()
    for (const id of ids) expect((await passagesOf(id)).length).toBeGreaterThan(100)
    expect(await find(ada, 'gharial')).toEqual([last])
  })
})

test('a running server indexes a record soon after the write', async () => {
  const own = await ownApp(undefined, { background: 'on' })
  try {
    const who = await person(own)
    const { id } = made<{ id: string }>(await who.fetch('POST', '/api/notes', { title: 'Ibex', scope: 'team' }))
    const found = async () =>
      (await searchHybrid(await who.ctx(), { text: 'ibex', limit: 5 }, undefined)).map((hit) => hit.recordId)
    const until = Date.now() + 60_000
    while ((await found()).length === 0 && Date.now() < until) await Bun.sleep(20)
    expect(await found()).toEqual([id])
  } finally {
    await own.close()
  }
})
