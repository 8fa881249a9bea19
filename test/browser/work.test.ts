import { expect, test } from 'bun:test'
import { logged, sharedApp, unique } from '../support/app.ts'
import { Visitor } from './support.ts'

/** The pages for what only a person at a browser may do with work. */
const t = await sharedApp()

const look = (who: Visitor) =>
  who.page.evaluate<Record<string, unknown>>(`({
    headings: document.querySelectorAll('h1').length,
    nameless: [...document.querySelectorAll('input, select, textarea')].filter((f) => f.labels.length === 0).length,
    silent: [...document.querySelectorAll('button, a')].filter((a) => !(a.ariaLabel ?? a.textContent).trim()).length,
    tooWide: document.documentElement.scrollWidth > innerWidth,
  })`)
const good = { headings: 1, nameless: 0, silent: 0, tooWide: false }

async function call<T>(who: Visitor, method: string, path: string, data?: object): Promise<T> {
  const answer = await who.context.request.fetch(t.app.url + path, { method, data, headers: { origin: t.app.url } })
  expect(answer.ok()).toBe(true)
  return (await answer.json()) as T
}

test('a lone person finds what their feature lacks, reviews it and overrides a gate', async () => {
  const ada = await Visitor.open({
    at: { url: t.app.url, output: () => logged.join('') },
    viewport: { width: 320, height: 700 },
    colorScheme: 'dark',
  })
  await ada.register('Ada Lovelace', `${unique('ada')}@example.com`)
  const project = await call<{ id: string }>(ada, 'POST', '/api/projects', { name: unique('Lantern') })
  const title = `Offline <b>reading</b> ${'w'.repeat(80)}`
  const path = `/api/projects/${project.id}/features`
  const { id } = await call<{ id: string }>(ada, 'POST', path, { title, kind: 'chore' })
  const evidence = {
    summary: 'Pages come from the store',
    files: ['src/store.ts'],
    links: ['https://ci.example.com/1'],
  }
  await call(ada, 'POST', `/api/features/${id}/advance`, {})

  await ada.goto(`/projects/${project.id}`)
  await ada.page.getByRole('link', { name: title }).click()
  await ada.see('What is missing to be “in testing”')
  expect(await ada.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  expect(await look(ada)).toEqual(good)

  await call(ada, 'POST', `/api/features/${id}/advance`, { evidence })
  await call(ada, 'POST', `/api/features/${id}/advance`, { evidence: { ...evidence, summary: 'All tests pass' } })
  await call(ada, 'POST', `/api/features/${id}/advance`, {})
  // The address that notifications link to.
  await ada.goto(`/projects/${project.id}/features/${id}`)
  await ada.page.getByLabel('Comment').fill('Reads well')
  expect(await look(ada)).toEqual(good)
  await ada.button('Approve').click()
  await ada.see('Reads well')
  await ada.see('Approved by')
  expect(await ada.focused().evaluate('document.activeElement.tagName')).toBe('H1')

  await ada.page.getByText('Override the gates').first().click()
  await ada.page.getByLabel('Move to').selectOption('in_progress')
  await ada.page.getByLabel('Reason').fill('Released too early')
  expect(await look(ada)).toEqual(good)
  await ada.button('Override the gates').click()
  await ada.see('What is missing to be “in testing”')
  for (const page of ['/inbox']) {
    await ada.goto(page)
    await ada.page.locator('#page:not([aria-busy])').waitFor()
    expect(await look(ada)).toEqual(good)
  }
  await ada.leave()
}, 300_000)

test('the page of a project does not overwrite what somebody changed meanwhile', async () => {
  const ada = await Visitor.open({ at: { url: t.app.url, output: () => logged.join('') } })
  await ada.register('Ada Lovelace', `${unique('ada')}@example.com`)
  const { id } = await call<{ id: string }>(ada, 'POST', '/api/projects', { name: unique('Lantern') })
  const path = `/api/projects/${id}`
  const settings = async () => (await call<{ settings: object }>(ada, 'GET', path)).settings
  await ada.goto(`/projects/${id}`)
  const allow = ada.button('Let authors review their own work')
  await allow.waitFor()
  const workflow = { initial: 'open', states: ['open', 'done'], transitions: [{ from: 'open', to: 'done' }] }
  await call(ada, 'PUT', path, { settings: { workflow } })
  await allow.click()
  await ada.see('Somebody changed this project meanwhile')
  expect(await settings()).toMatchObject({ workflow })
  await allow.click()
  await ada.see('Authors may review their own work')
  expect(await settings()).toMatchObject({ workflow, allowSelfReview: true })
  await ada.leave(`PUT ${path} 412`)
}, 300_000)

test('who is not signed in signs in first and comes back', async () => {
  const stranger = await Visitor.open({ at: { url: t.app.url, output: () => logged.join('') } })
  await stranger.goto('/inbox')
  await stranger.page.waitForURL(/\/login\?next=%2Finbox$/)
  await stranger.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
}, 300_000)
