import { expect, test } from 'bun:test'
import { person, sharedApp } from '../support/app.ts'
import { call, newProject, signedIn } from './support.ts'

/** What only a person at a browser may decide about work. */
const t = await sharedApp()

test('the project page does not overwrite a change that someone else made meanwhile', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { id, slug } = await newProject(ada)
  const path = `/api/projects/${id}`
  const settings = async () => (await call<{ settings: object }>(ada, 'GET', path)).settings
  const workflow = { initial: 'open', states: ['open', 'done'], transitions: [{ from: 'open', to: 'done' }] }
  await ada.goto(`/projects/${slug}`)
  await ada.button('Settings').click()
  const dialog = ada.page.getByRole('dialog', { name: 'Project' })
  const allow = dialog.getByLabel('Authors may review their own work')
  await allow.waitFor()
  // The other change comes after the page has sent its own, and before the server has read it.
  await ada.page.route(
    `**${path}`,
    async (route) => {
      await call(ada, 'PUT', path, { settings: { workflow } })
      await route.continue()
    },
    { times: 1 },
  )
  await allow.click()
  await dialog.getByRole('alert').waitFor()
  expect(await settings()).toEqual(expect.objectContaining({ workflow }))
  expect(await settings()).not.toHaveProperty('allowSelfReview', true)
  await allow.click()
  await dialog.getByRole('alert').waitFor({ state: 'detached' })
  await dialog.locator('input:checked:enabled').waitFor()
  expect(await settings()).toMatchObject({ workflow, allowSelfReview: true })
  await ada.leave(`PUT ${path} 412`)
}, 300_000)
