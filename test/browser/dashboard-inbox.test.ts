import { expect, test } from 'bun:test'
import { member, type Person, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import {
  call,
  evil,
  expectSound,
  inEachLook,
  newProject,
  newTask,
  signedIn,
  teamOf,
  thorough,
  type Visitor,
} from './support.ts'

/** The inbox, home, the feed and reports in a real browser. */
const t = await sharedApp()

interface Counts {
  needs: number
  unread: number
}

const rows = (who: Visitor) => who.page.locator('.nt')
const badge = (who: Visitor) => who.page.locator('.side .n.due')

async function expectRows(who: Visitor, n: number): Promise<void> {
  if (n > 0)
    await rows(who)
      .nth(n - 1)
      .waitFor()
  await rows(who).nth(n).waitFor({ state: 'detached' })
}

/** The badge, the view's own number and the list agree, with each other and with the server. */
async function expectNeeds(who: Visitor, n: number): Promise<void> {
  await who.page.getByRole('link', { name: `Needs you ${n}`, exact: true }).waitFor()
  if (n > 0) await badge(who).getByText(String(n), { exact: true }).waitFor()
  else await badge(who).waitFor({ state: 'detached' })
  await expectRows(who, n)
  // The page shows what was done before the server has stored it.
  await until(async () => (await call<Counts>(who, 'GET', '/api/notifications/count')).needs === n)
}

async function two(): Promise<{ ada: Visitor; ben: Visitor; boss: Person; slug: string; handle: string }> {
  const boss = await person(t)
  const other = await member(t, boss, 'admin', 'Ben Okafor')
  const ada = await signedIn(t, boss.email)
  const ben = await signedIn(t, other.email)
  const { slug } = await newProject(ada)
  const { handle } = await call<{ handle: string }>(ada, 'GET', '/api/auth/me')
  return { ada, ben, boss, slug, handle }
}

test('the inbox badge equals the number of listed notifications after every action, by keys and by buttons', async () => {
  const { ada, ben, slug, handle } = await two()
  const task = await newTask(ada, slug, { title: 'Checksum every block' })
  const ask = (body: string, asks = false) => call(ben, 'POST', `/api/tasks/${task.id}/comments`, { body, asks })
  await ask(`@${handle} look at the first block`)
  await ask(`@${handle} which hash?`, true)
  await ask(`@${handle} and the last block`)
  await ada.goto('/inbox')
  await expectNeeds(ada, 3)
  await ada.page.keyboard.press('e')
  await expectNeeds(ada, 2)
  await ada.button('Undo').click()
  await expectNeeds(ada, 3)
  // An answer is a comment, and settles the question.
  await ada.page.getByRole('button', { name: /asks about/ }).click()
  await ada.page.getByLabel('Write an answer').fill('SHA-256')
  await ada.button('Answer').click()
  await expectNeeds(ada, 2)
  // What others send waits behind a pill: nothing moves under the pointer.
  await ask(`@${handle} thanks`)
  await ada.button('Show 1 new').waitFor()
  await expectRows(ada, 2)
  await ada.button('Show 1 new').click()
  await expectNeeds(ada, 3)
  await ada.page.getByRole('link', { name: /^All/ }).click()
  await expectRows(ada, 4)
  // What is open is marked as read, so the number may still change.
  await until(async () => {
    const { unread } = await call<Counts>(ada, 'GET', '/api/notifications/count')
    return (await ada.page.getByRole('link', { name: `Unread ${unread}`, exact: true }).count()) === 1
  })
  await rows(ada).first().getByRole('button').click()
  await ada.page.getByRole('button', { name: /Mark as unread/ }).click()
  await ada.page.getByRole('button', { name: /Mark as read/ }).waitFor()
  await ada.page.getByRole('link', { name: /^Needs you/ }).click()
  await ada.button('Snooze').click()
  await ada.page.getByRole('menuitem', { name: 'For an hour' }).click()
  await expectNeeds(ada, 2)
  await ben.context.close()
  await ada.leave()
}, 300_000)

test('a review and a decision can be answered in the inbox', async () => {
  const { ada, ben, slug } = await two()
  const feature = await call<{ id: string }>(ada, 'POST', `/api/projects/${slug}/features`, {
    title: 'Offline reading',
    kind: 'chore',
  })
  const evidence = {
    summary: 'Pages come from the store',
    files: ['src/store.ts'],
    links: ['https://ci.example.com/1'],
  }
  const advance = (body: object) => call(ben, 'POST', `/api/features/${feature.id}/advance`, body)
  await advance({})
  await advance({ evidence })
  await advance({ evidence: { ...evidence, summary: 'All tests pass' } })
  const project = (await call<{ id: string }>(ada, 'GET', `/api/projects/${slug}`)).id
  const decision = { title: 'Use SHA-256', decision: 'It is everywhere.', status: 'proposed', projectId: project }
  await call(ben, 'POST', '/api/decisions', decision)
  await ada.goto('/inbox')
  await expectNeeds(ada, 2)
  await ada.page.getByRole('button', { name: /Ready for review/ }).click()
  await ada.see('All tests pass')
  await ada.page.getByRole('button', { name: /^Approve/ }).click()
  await expectNeeds(ada, 1)
  await ada.see('It is everywhere.')
  await ada.button('Accept').click()
  await expectNeeds(ada, 0)
  await ada.see('Nothing needs you')
  await ben.context.close()
  await ada.leave()
}, 300_000)

test('the inbox shows stored markup as text, passes axe, and holds new notifications back until asked', async () => {
  const { ada, ben, slug, handle } = await two()
  const task = await newTask(ada, slug, { title: evil, description: evil })
  await call(ben, 'POST', `/api/tasks/${task.id}/comments`, { body: `@${handle} ${evil}` })
  await call(ada, 'PATCH', `/api/tasks/${task.id}`, { assignee: 'me' })
  await call(ada, 'POST', '/api/activities', { type: 'deploy', description: evil })
  await call(ada, 'POST', '/api/issues', { title: evil.slice(0, 150), description: evil })
  const pages: [string, string][] = [
    ['/inbox', '.nt'],
    ['/inbox?view=all&open=none', '.inp .msg'],
    ['/', '.tl .dep'],
    ['/activity', '.frow'],
    ['/issues', 'main .md'],
  ]
  await inEachLook(ada, async () => {
    for (const [path, shown] of pages) await expectSound(ada, path, shown)
  })
  await ada.goto('/activity')
  await ada.page.locator('.frow').first().waitFor()
  await ada.see('Live')
  const before = await ada.page.locator('.frow').count()
  await call(ben, 'POST', `/api/tasks/${task.id}/comments`, { body: 'One more' })
  const pill = ada.page.getByRole('button', { name: /new entr/ })
  await pill.waitFor()
  expect(await ada.page.locator('.frow').count()).toBe(before)
  await pill.click()
  await pill.waitFor({ state: 'detached' })
  await ben.context.close()
  await ada.leave()
}, 300_000)

thorough(
  'a viewer can read and mark notifications and report a problem, but not answer',
  async () => {
    const boss = await person(t)
    const guest = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: 'Read only' })
    const vera = await signedIn(t, guest.email)
    const { handle } = await call<{ handle: string }>(vera, 'GET', '/api/auth/me')
    await call(ada, 'POST', `/api/tasks/${task.id}/comments`, { body: `@${handle} have a look` })
    await vera.goto(`/inbox?team=${await teamOf(ada)}`)
    await vera.page.locator('.inp').getByText('have a look').waitFor()
    for (const name of ['Send', 'Answer', 'Take over']) expect(await vera.button(name).count()).toBe(0)
    await vera.page.keyboard.press('e')
    await expectNeeds(vera, 0)
    await vera.goto('/issues?new=1')
    await vera.page.getByLabel('What is wrong').fill('The list is empty')
    await vera.page.getByLabel(/What did you do/).fill('I searched.')
    await vera.button('Send').click()
    await vera.page.getByRole('heading', { name: 'The list is empty' }).waitFor()
    await ada.context.close()
    await vera.leave()
  },
  300_000,
)
