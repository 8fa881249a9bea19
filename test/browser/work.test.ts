import { expect, test } from 'bun:test'
import { logged, sharedApp, unique } from '../support/app.ts'
import { Visitor } from './support.ts'

/** The pages for what only a person at a browser may do with work. */
const t = await sharedApp()

async function call<T>(who: Visitor, method: string, path: string, data?: object): Promise<T> {
  const answer = await who.context.request.fetch(t.app.url + path, { method, data, headers: { origin: t.app.url } })
  expect(answer.ok()).toBe(true)
  return (await answer.json()) as T
}

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
