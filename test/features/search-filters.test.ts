import { beforeAll, describe, expect, test } from 'bun:test'
import { renewTexts } from '../../src/features/search/indexing/renewal.ts'
import type { Answer } from '../../src/features/search/schema.ts'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { parseSearchQuery, withoutFilter } from '../../src/records/query-filters.ts'
import { member, type Person, person, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { indexed, newProject, newWord, search, titles, write } from './search-support.ts'
import { watch } from './support.ts'

let t: TestApp
let ada: Person
let bo: Person
beforeAll(async () => {
  t = watch(await testApp({ background: 'off' }))
  atEnd(() => t.close())
  ada = await person(t, { name: 'Ada Lovelace' })
  bo = await member(t, ada, 'member', 'Bo Diddley')
})

const newTask = async (projectId: string, task: object): Promise<TaskDetail> => {
  const { status, body } = await ada.fetch<TaskDetail>('POST', `/api/projects/${projectId}/tasks`, task)
  expect([status, body]).toEqual([201, body])
  return body
}
const found = async (q: string, who: Person = ada) => titles(await search(who, q)).sort()

describe('a query with filters', () => {
  let [word, other] = ['', '']
  let [here, there] = [
    { id: '', key: '', slug: '' },
    { id: '', key: '', slug: '' },
  ]
  beforeAll(async () => {
    ;[word, other] = [newWord(), newWord()]
    ;[here, there] = [await newProject(ada), await newProject(ada)]
    await newTask(here.id, { title: 'one', description: word, labels: [other, 'Docs'], assignee: ada.email })
    const two = await newTask(here.id, { title: 'two', description: word, labels: [other], assignee: bo.email })
    const three = await newTask(here.id, { title: 'three', description: word, labels: [other] })
    expect((await ada.fetch('POST', `/api/tasks/${three.key}/complete`, {})).status).toBe(200)
    await newTask(there.id, { title: 'four', description: word, labels: [other], blockedBy: [two.key] })
    await write(ada, { title: 'five', content: word, tags: [other] })
    await indexed(t)
  })

  test('finds records with a label, whatever its case, and excludes others', async () => {
    expect(await found(`${word} label:${other.toUpperCase()}`)).toEqual(['five', 'four', 'one', 'three', 'two'])
    expect(await found(`label:${other} label:docs`)).toEqual(['one'])
    expect(await found(`label:${other} -label:docs`)).toEqual(['five', 'four', 'three', 'two'])
    expect(await found(`${word} label:docs,none-has-this`)).toEqual(['one'])
    expect(await found(`${word} -label:${other}`)).toEqual([])
  })

  test('finds tasks by state and assignee', async () => {
    expect(await found(`label:${other} is:open`)).toEqual(['four', 'one', 'two'])
    expect(await found(`label:${other} -is:open`)).toEqual(['three'])
    expect(await found(`label:${other} is:done`)).toEqual(['three'])
    expect(await found(`label:${other} is:blocked`)).toEqual(['four'])
    expect(await found(`label:${other} is:ready`)).toEqual(['one', 'two'])
    expect(await found(`label:${other} is:mine`)).toEqual(['one'])
    expect(await found(`label:${other} is:mine`, bo)).toEqual(['two'])
    expect(await found(`label:${other} status:todo,done`)).toEqual(['four', 'one', 'three', 'two'])
    expect(await found(`label:${other} is:open @ada`)).toEqual(['one'])
    expect(await found(`label:${other} is:open -@ada`)).toEqual(['four', 'two'])
    expect(await found(`label:${other} assignee:${bo.email}`)).toEqual(['two'])
    expect(await found(`label:${other} assignee:me,bo`)).toEqual(['one', 'two'])
    expect(await found(`label:${other} assignee:none`)).toEqual(['four', 'three'])
  })

  test('finds records of a project by its key or slug', async () => {
    expect(await found(`${word} project:${there.key.toLowerCase()}`)).toEqual(['four'])
    expect(await found(`${word} -project:${there.slug}`)).toEqual(['five', 'one', 'three', 'two'])
  })

  test('reports the filters that it contains, with whole names, and corrects only the words', async () => {
    const answer = await search(ada, `is:open @ada -label:x ${word.slice(0, -1)}`)
    expect(answer.filters).toEqual([
      { key: 'is', values: ['open'], text: 'is:open' },
      { key: 'assignee', values: ['Ada Lovelace'], text: '@ada' },
      { key: 'label', values: ['x'], not: true, text: '-label:x' },
    ])
    expect(titles(answer)).toEqual(['one'])
    expect(await search(ada, word)).not.toHaveProperty('filters')
  })

  test('treats an unknown key, value or name as words', async () => {
    const odd = newWord()
    await newTask(here.id, { title: `kind:${odd} is:${odd} @${odd} project:${odd}` })
    await indexed(t)
    for (const q of [`kind:${odd}`, `is:${odd}`, `@${odd}`, `project:${odd}`]) {
      const answer = await search(ada, q)
      expect([q, answer.filters, titles(answer).length]).toEqual([q, undefined, 1])
    }
  })

  test('applies them to a search by meaning too', async () => {
    const ask = async (query: string, who: Person = ada) => {
      const { status, body } = await who.fetch<Answer>('POST', '/api/search/ai', { query, limit: 20 })
      expect([status, body]).toEqual([200, body])
      return { titles: body.sources.map(({ title }) => title), filters: body.filters }
    }
    expect((await ask(word)).titles.toSorted()).toEqual(['five', 'four', 'one', 'three', 'two'])
    expect((await ask(`${word} label:docs`)).titles).toEqual(['one'])
    expect((await ask(`${word} is:open -@ada`)).titles.toSorted()).toEqual(['four', 'two'])
    expect((await ask(`${word} project:${there.key}`)).titles).toEqual(['four'])
    expect(await ask(`label:${other} is:done`)).toEqual({
      titles: ['three'],
      filters: [
        { key: 'label', values: [other], text: `label:${other}` },
        { key: 'is', values: ['done'], text: 'is:done' },
      ],
    })
    expect((await ask(`label:${other}`, await person(t))).titles).toEqual([])
  })

  test('finds only what the caller may see', async () => {
    const stranger = await person(t)
    expect(await found(`label:${other} is:open`, stranger)).toEqual([])
    expect((await search(stranger, `project:${here.key} @bo`)).filters).toBeUndefined()
    expect((await search(ada, `label:${other} is:open`, '&kinds=note')).items).toEqual([])
  })
})

describe('the order of results', () => {
  test('is key, title, label, text', async () => {
    const word = newWord()
    const { id } = await newProject(ada)
    await newTask(id, { title: 'text', description: `${word} ${word} ${word}` })
    await newTask(id, { title: 'label', labels: [word], description: 'x '.repeat(500) })
    await newTask(id, { title: `title ${word}` })
    const { id: commented } = await newTask(id, { title: 'comment' })
    await ada.fetch('POST', `/api/tasks/${commented}/comments`, { body: `about ${word}` })
    await indexed(t)
    const order = titles(await search(ada, word))
    expect(order.slice(0, 2)).toEqual([`title ${word}`, 'label'])
    expect(order.slice(2).sort()).toEqual(['comment', 'text'])
  })

  test('contains labels of tasks that an earlier version indexed', async () => {
    const word = newWord()
    const { id } = await newTask((await newProject(ada)).id, { title: 'Old', labels: [word] })
    await indexed(t)
    await t.app.driver.exec(`update passages set content = '' where record_id = '${id}'`)
    await t.app.driver.exec(`delete from meta where key = 'search.texts'`)
    expect(await found(word)).toEqual([])
    await renewTexts(systemCtx(t), {})
    await indexed(t)
    expect(await found(word)).toEqual(['Old'])
  })

  test('has the task with the key first, before tasks that mention it', async () => {
    const { id } = await newProject(ada)
    const task = await newTask(id, { title: unique('Fix the lock') })
    await newTask(id, { title: `After ${task.key}` })
    await newTask(id, { title: `Follows ${task.key}` })
    await indexed(t)
    const order = titles(await search(ada, task.key.toLowerCase()))
    expect([order[0], order.length]).toEqual([task.title, 3])
  })
})

describe('parseSearchQuery', () => {
  test('separates filters from words, phrases and addresses', () => {
    const parsed = (q: string) => {
      const { words, filters } = parseSearchQuery(q)
      return [words, ...filters.map(({ key, values, not }) => [not ? `not ${key}` : key, ...values].join(' '))]
    }
    expect(parsed('sync LABEL:"good first, easy" -status:in-review')).toEqual([
      'sync',
      'label good first, easy',
      'not status in_review',
    ])
    for (const q of ['a:b', '"said is:open there"', 'mail a@b.example', '@base-ui/react', 'label:', 'is:tall', '-word'])
      expect(parsed(q)).toEqual([q])
  })

  test('removes one filter from a query', () => {
    expect(withoutFilter('sync  label:a is:open', { text: 'label:a' })).toBe('sync is:open')
  })
})
