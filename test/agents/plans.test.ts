import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { Tree } from '../../src/features/planning/schema.ts'
import { TestClock } from '../features/support.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, type Person, person, type TestApp, testApp } from '../support/app.ts'

/** What `create_plan` accepts, and how an agent corrects a refused plan. Two instances share one database. */
const clock = new TestClock()
let t: TestApp
let other: TestApp
let ada: Person
let token: string
let agent: McpClient
let project: string
let number = 0

type Args = Record<string, unknown>
const connect = (at: TestApp, by: string): Promise<McpClient> =>
  (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(at.url, by)

async function create(args: Args, as = agent): Promise<Args> {
  const { isError, structuredContent, content } = await as.call('create_plan', args)
  if (isError) throw new Error(content[0]?.text)
  return structuredContent as Args
}
async function refuse(args: Args, as = agent): Promise<string> {
  const { isError, content } = await as.call('create_plan', args)
  expect(isError).toBe(true)
  return content[0]?.text as string
}
const tree = async (): Promise<Tree> => (await ada.fetch<Tree>('GET', `/api/projects/${project}/tree`)).body
const blockers = async (): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    (await tree()).epics.flatMap(({ stories }) =>
      stories.flatMap(({ tasks }) => tasks.map(({ title, blockedBy }) => [title, blockedBy])),
    ),
  )
const epics = (...tasks: object[]) => [{ title: 'Locks', stories: [{ title: 'One process', tasks }] }]
const take = { ref: 'take', title: 'Take the lock' }
const show = (...blockedBy: string[]) => ({ title: 'Show who holds it', blockedBy })
/** The correction that a refusal shows, as a client would send it. */
const shapeIn = (text: string): { plan: string; fix: Args } => JSON.parse(/\{.*\}$/.exec(text)?.[0] as string)

beforeAll(async () => {
  ;[t, other] = [await testApp({ background: 'off' }, clock.now), await testApp({ background: 'off' }, clock.now)]
  ada = await person(t)
  token = await mcpToken(t, ada, { name: 'planner' })
  agent = await connect(t, token)
})
afterAll(async () => {
  await agent.close()
  await Promise.all([t.close(), other.close()])
})
beforeEach(async () => {
  project = `PL${String.fromCharCode(65 + number++)}`
  await ada.fetch('POST', '/api/projects', { name: `Plans ${project}`, key: project })
})

describe('create_plan', () => {
  test('accepts keys of existing tasks, titles and refs as dependencies', async () => {
    await ada.fetch('POST', `/api/projects/${project}/tasks`, { title: 'Choose a file' })
    const first = `${project}-1`
    await create({
      project,
      epics: epics(take, { ...show('take', first) }, { title: 'Test', blockedBy: ['take the lock'] }),
    })
    expect(await blockers()).toEqual({
      'Take the lock': [],
      'Show who holds it': [first, `${project}-2`],
      Test: [`${project}-2`],
    })
    const { body } = await ada.fetch<{ freed: { key: string }[] }>('POST', `/api/tasks/${first}/complete`, {})
    expect(body.freed).toEqual([])
    expect((await blockers())['Show who holds it']).toEqual([`${project}-2`])
  })

  test('puts tasks directly below an epic into a story with its title', async () => {
    const made = await create({
      project,
      epics: [{ title: 'Locks', tasks: [take, { ...show('take'), tags: ['db'] }] }],
    })
    expect(made).toMatchObject({ tasks: `${project}-1 to ${project}-2`, ready: [`${project}-1`] })
    const [epic] = (await tree()).epics
    expect(epic?.stories.map(({ title, tasks }) => [title, tasks.map((task) => task.title)])).toEqual([
      ['Locks', ['Take the lock', 'Show who holds it']],
    ])
  })

  test('refuses a task of another team as a dependency', async () => {
    const stranger = await person(t)
    const { id } = (await stranger.fetch<{ id: string }>('POST', '/api/projects', { name: 'Secret', key: 'SECR' })).body
    const task = (await stranger.fetch<{ id: string }>('POST', `/api/projects/${id}/tasks`, { title: 'Hidden' })).body
    for (const ref of ['SECR-1', task.id])
      expect(await refuse({ project, epics: epics(show(ref)) })).toContain(
        `is blocked by "${ref}": no task of this plan`,
      )
  })

  test('accepts a task by its id or a unique beginning, if the token can see it', async () => {
    const made = await ada.fetch<{ id: string }>('POST', `/api/projects/${project}/tasks`, { title: 'Choose a file' })
    const first = `${project}-1`
    const refs = [made.body.id, made.body.id.slice(0, 30), ` ${first.toLowerCase()} `]
    await create({ project, epics: epics(...refs.map((ref, i) => ({ title: `T${i}`, blockedBy: [ref] }))) })
    expect(await blockers()).toEqual({ T0: [first], T1: [first], T2: [first] })
    const elsewhere = (
      await ada.fetch<{ id: string }>('POST', '/api/projects', { name: `Other ${project}`, key: `${project}X` })
    ).body
    const limited = await connect(t, await mcpToken(t, ada, { name: `limited ${project}`, projects: [elsewhere.id] }))
    for (const ref of [first, ...refs.slice(0, 2)])
      expect(await refuse({ project: elsewhere.id, epics: epics(show(ref)) }, limited)).toContain(
        `is blocked by "${ref}": no task of this plan`,
      )
    await limited.close()
  })
})

describe('a refused plan', () => {
  test('is corrected by sending only the wrong reference again', async () => {
    const text = await refuse({ project, epics: epics(take, show('tke')) })
    expect(text).toMatch(
      /^invalid: "Show who holds it" is blocked by "tke": .* Did you mean "take"\? Kept for 10 minutes; correct it: create_plan \{/,
    )
    expect(countTokens(text)).toBeLessThanOrEqual(90)
    const { plan, fix } = shapeIn(text)
    expect(fix).toEqual({ 'epics.0.stories.0.tasks.1.blockedBy.0': '…' })
    expect(await create({ plan, fix: { 'epics.0.stories.0.tasks.1.blockedBy.0': 'take' } })).toMatchObject({
      tasks: `${project}-1 to ${project}-2`,
    })
    expect(await blockers()).toMatchObject({ 'Show who holds it': [`${project}-1`] })
  })

  test.each([
    ['a title that is too long', { title: 'x'.repeat(300) }, 'epics.0.stories.0.tasks.0.title', 'Short'],
    ['an unknown field', { title: 'A', owner: 'me' }, 'epics.0.stories.0.tasks.0.owner', null],
    ['a circle', { ref: 'a', title: 'A', blockedBy: ['a'] }, 'epics.0.stories.0.tasks.0.blockedBy', null],
  ])('is corrected after %s', async (_, task, path, value) => {
    const { plan, fix } = shapeIn(await refuse({ project, epics: epics(task) }))
    expect(Object.keys(fix)).toEqual([path])
    expect(await create({ plan, fix: { [path]: value } })).toMatchObject({ tasks: `${project}-1` })
  })

  test('is corrected after a wrong project, step by step under one id', async () => {
    const { plan, fix } = shapeIn(await refuse({ project: 'NONE', epics: epics(show('nobody'), show('nobody else')) }))
    expect(fix).toEqual({ project: '…' })
    const next = shapeIn(await refuse({ plan, fix: { project } }))
    expect(next.plan).toBe(plan)
    expect(Object.keys(next.fix)).toHaveLength(2)
    const fixed = { 'epics.0.stories.0.tasks.0.blockedBy': null, 'epics.0.stories.0.tasks.1': null }
    expect(await create({ plan, fix: fixed })).toMatchObject({ tasks: `${project}-1` })
  })

  test('is known to every instance', async () => {
    const { plan } = shapeIn(await refuse({ project, epics: epics(take, show('tke')) }))
    const there = await connect(other, token)
    expect(await create({ plan, fix: { 'epics.0.stories.0.tasks.1.blockedBy': ['take'] } }, there)).toMatchObject({
      ready: [`${project}-1`],
    })
    await there.close()
  })

  test('creates one plan if the correction is repeated with its idempotency key', async () => {
    const { plan } = shapeIn(await refuse({ project, epics: epics(take, show('tke')) }))
    const args = { plan, fix: { 'epics.0.stories.0.tasks.1.blockedBy': ['take'] }, idempotencyKey: `once-${plan}` }
    expect(await create(args)).toEqual(await create(args))
    expect((await tree()).epics).toHaveLength(1)
  })

  test('has an id of its own, which neither arguments nor keys of other calls can be', async () => {
    const key = 'plan mine'
    const good = { project, epics: epics(take), idempotencyKey: key }
    const first = await create(good)
    for (const sent of ['mine', 'Locks for all', 'A title with more than twenty characters', 'abcd']) {
      const { plan, fix } = shapeIn(await refuse({ plan: sent, project, epics: epics(take, show('tke')) }))
      expect(plan).toMatch(/^[0-9a-z]{4}$/)
      expect(plan).not.toBe(sent)
      expect(Object.keys(fix)).toEqual(['epics.0.stories.0.tasks.1.blockedBy.0'])
    }
    expect(await create(good)).toEqual(first)
    expect(await create({ plan: 'mine', project, epics: epics(take) })).toMatchObject({ tasks: `${project}-2` })
    expect(await refuse({ plan: 'Locks', fix: {} })).toStartWith('not_found: Plan Locks not found.')
    const { rows } = await t.app.driver.query(
      "select answer ? 'plan' or answer ? 'fix' from idempotency_keys where action = 'planning.keepRefused'",
    )
    expect(new Set(rows.flat())).toEqual(new Set([false]))
  })

  test('loses an item once, however often and however its path is written', async () => {
    const { plan } = shapeIn(await refuse({ project, epics: epics({ title: 'A', blockedBy: ['tke'] }, take, show()) }))
    const tasks = 'epics.0.stories.0.tasks'
    await create({ plan, fix: { [`${tasks}.0`]: null, [`/${tasks.replaceAll('.', '/')}/0`]: null } })
    expect(Object.keys(await blockers())).toEqual(['Take the lock', 'Show who holds it'])
  })

  test('accepts at most 200 corrections at once', async () => {
    const { plan } = shapeIn(await refuse({ project, epics: epics(show('tke')) }))
    const fix = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`epics.${i}`, { title: `E${i}` }]))
    expect(await refuse({ plan, fix })).toStartWith('invalid: fix has 201 paths, but can have at most 200.')
  })

  test('is one of at most five stored, and is not stored if it is very long', async () => {
    const plans: string[] = []
    for (let i = 0; i < 6; i += 1) {
      plans.push(shapeIn(await refuse({ project, epics: epics(show(`r${i}`)) })).plan)
      clock.forward({ seconds: 1 })
    }
    expect(await refuse({ plan: plans[0] as string, fix: {} })).toStartWith('not_found: ')
    expect(await refuse({ plan: plans[1] as string, fix: {} })).toContain('"r1"')
    const long = Array.from({ length: 6 }, (_, i) => ({ title: `T${i}`, description: 'x'.repeat(50_000) }))
    expect(await refuse({ project, epics: epics(show('r'), ...long) })).not.toContain('Kept')
  })

  test.each([
    { 'epics.7.title': 'x' },
    { 'epics.00': null },
    { 'epics.01': {} },
    { 'epics.00.title': 'x' },
    { 'epics.__proto__.x': 1 },
    { 'epics.0.__proto__': {} },
    { '': 1 },
  ])('cannot be corrected at %j, which is not in it', async (fix) => {
    const { plan } = shapeIn(await refuse({ project, epics: epics(show('tke')) }))
    expect(await refuse({ plan, fix })).toContain('which is not in the plan')
    expect(await refuse({ plan, fix: {} })).toContain('is blocked by "tke"')
  })

  // The last one: the sign-in of the person expires with the clock.
  test('belongs to its credential, and is stored for 10 minutes', async () => {
    const { plan } = shapeIn(await refuse({ project, epics: epics(take, show('tke')) }))
    const gone = `not_found: Plan ${plan} not found. A refused plan is kept for 10 minutes. Send epics again.`
    const sibling = await connect(t, await mcpToken(t, ada, { name: 'sibling' }))
    expect(await refuse({ plan, fix: {} }, sibling)).toBe(gone)
    await sibling.close()
    clock.forward({ minutes: 9 })
    expect(await refuse({ plan, fix: {} })).toContain('is blocked by "tke"')
    clock.forward({ minutes: 11 })
    expect(await refuse({ plan, fix: {} })).toBe(gone)
  })
})
