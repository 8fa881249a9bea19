import { afterAll, expect, test } from 'bun:test'
import { person, testApp, unique } from '../support/app.ts'
import { call, evil, expectSound, looks, signedIn } from './support.ts'

/** What administrators of the instance see and do. */
const t = await testApp()
afterAll(() => t.close())

test('an administrator suspends somebody, reads the outbox and the audit log, and acts as somebody', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const name = unique('Grace')
  const grace = await person(t, { name })
  const root = await signedIn(t, boss.email)
  await root.goto('/admin')
  await root.page.getByRole('heading', { name: 'Checks' }).waitFor()
  await root.page.getByRole('link', { name: 'Users', exact: true }).click()
  await root.page.getByLabel('Find by name or address').fill(name)
  await root.button('Find').click()
  await root.button(`Suspend ${name}`).click()
  await root.page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await root.button(`Unsuspend ${name}`).click()
  await root.button(`Suspend ${name}`).waitFor()
  await root.page.getByRole('link', { name: 'Audit', exact: true }).click()
  await root.page.getByLabel(/^Start of the type/).fill('user.suspended')
  await root.button('Find').click()
  await root.page.getByRole('cell', { name: 'user.suspended' }).first().waitFor()
  await root.page.getByRole('link', { name: 'Outbox', exact: true }).click()
  await root.page.getByRole('heading', { name: /Outbox/ }).waitFor()

  /** A connection that hears of events. One that is still being made would be refused when the acting ends. */
  const live = () => root.page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'))
  const own = live()
  await root.goto('/admin/users')
  await own
  await root.page.getByLabel('Find by name or address').fill(name)
  await root.button('Find').click()
  await root.button(`Act as ${name}`).click()
  await root.page.getByLabel('Reason').fill('Asked for help')
  const theirs = live()
  await root.page.getByRole('dialog').getByRole('button', { name: 'Act as' }).click()
  await root.see(`You act as ${name}`)
  await root.see('30 min left')
  expect(await root.me()).toBe(boss.email)
  await theirs
  await root.button('Stop').click()
  await root.page.getByRole('heading', { name: /Administration: Users/ }).waitFor()
  expect(await root.page.getByText(`You act as ${name}`).count()).toBe(0)
  expect(grace.email).toBeString()
  await root.leave()
}, 300_000)

test('its pages show what people store as text, and do not exist for others', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const evilOne = await person(t, { name: evil })
  const mallory = await signedIn(t, evilOne.email)
  await call(mallory, 'POST', '/api/issues', { title: evil, description: evil })
  await mallory.goto('/admin')
  await mallory.see('There is nothing here')
  await mallory.leave()
  for (const look of looks) {
    const root = await signedIn(t, boss.email, look)
    await expectSound(root, '/admin', 'main .prow')
    for (const path of ['users', 'audit', 'issues', 'settings'])
      await expectSound(root, `/admin/${path}`, 'main tbody tr')
    await expectSound(root, '/admin/announcements', 'main form')
    await root.leave()
  }
}, 300_000)
