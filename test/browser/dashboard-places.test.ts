import { expect, test } from 'bun:test'
import { member, person, testApp, unique } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { fakeRepositoryHost } from '../support/code-host.ts'
import { call, evil, expectSound, inEachLook, newProject, signedIn, teamOf } from './support.ts'

/** Workspaces and repositories: made on the page of the team, shared and synced on their own. */
const host = fakeRepositoryHost('github')
const t = await testApp(host.settings)
atEnd(() => t.close())

test('a workspace is created, shared with another team, given a project and deleted', async () => {
  const boss = await person(t)
  const viewer = await member(t, boss, 'viewer', 'Vera')
  const ada = await signedIn(t, boss.email, { colorScheme: 'dark' })
  const { slug } = await newProject(ada)
  const other = unique('Harbour')
  await call(ada, 'POST', '/api/teams', { name: other })
  const team = await teamOf(ada)
  await ada.goto(`/team?team=${team}`)
  const { page } = ada
  await page.getByLabel('Name of a new workspace').fill('Pilot')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'Pilot' }).waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1) as string

  await page.getByLabel('Add a team').selectOption({ label: other })
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  // The answer to the addition, which has the same address, may still be on its way.
  const saved = page.waitForResponse(
    (answer) => answer.url().endsWith('/teams') && !!answer.request().postData()?.includes('viewer'),
  )
  await page.getByLabel(`Role of ${other}`).selectOption('viewer')
  expect((await saved).status()).toBe(201)
  const teams = async () =>
    (await call<{ teams: { name: string; role: string }[] }>(ada, 'GET', `/api/workspaces/${id}`)).teams
  expect((await teams()).find(({ name }) => name === other)?.role).toBe('viewer')
  await page.getByRole('button', { name: `Remove ${other}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByRole('button', { name: `Remove ${other}` }).waitFor({ state: 'detached' })

  await ada.goto(`/projects/${slug}?team=${team}`)
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByLabel('Shared with other teams in').selectOption({ label: 'Pilot' })
  await page.getByRole('link', { name: 'Open the workspace' }).click()
  await page.locator(`main a[href^="/projects/${slug}"]`).waitFor()

  const vera = await signedIn(t, viewer.email)
  await vera.goto(`/workspaces/${id}?team=${team}`)
  await vera.page.getByRole('heading', { name: 'Pilot' }).waitFor()
  expect(await vera.page.locator('main').getByRole('button').count()).toBe(0)
  expect(await vera.page.locator('main').getByRole('combobox').count()).toBe(0)
  await vera.leave()

  await page.getByRole('button', { name: 'Archive' }).click()
  await ada.see(/^This workspace is archived/)
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL(/\/team/)
  await ada.see('This team has no shared workspaces.')
  await ada.leave()
}, 300_000)

test('a repository is connected, synced and removed; markup from its host is shown as text', async () => {
  const boss = await person(t)
  const name = unique('engine')
  const kept = host.add(`tutti/${name}`, { language: 'C', topics: ['gears'] })
  kept.pulls.push({ number: 7, title: evil, head: 'mill', base: 'main', open: true, body: '', reviewers: [] })
  const ada = await signedIn(t, boss.email)
  const { page } = ada
  const team = await teamOf(ada)
  const space = await call<{ id: string }>(ada, 'POST', '/api/workspaces', { name: evil, description: evil })
  await inEachLook(ada, async () => {
    await expectSound(ada, `/workspaces/${space.id}?team=${team}`, 'main table')
    await ada.goto(`/team?team=${team}`)
    await page.getByLabel('Address of a repository').fill(`${host.url}/tutti/${name}`)
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.waitForURL(/\/repos\//)
    await expectSound(ada, `${new URL(page.url()).pathname}?team=${team}`, 'main .dep')
    await ada.see(evil)
    await page.getByRole('button', { name: 'Sync' }).click()
    await page.locator('main .flag', { hasText: /^synced$/ }).waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await ada.see('No repositories connected.')
  })
  await ada.leave()
}, 300_000)

test('a team admin accepts an invitation to a workspace on its page or in the inbox', async () => {
  const [boss, guest] = [await person(t), await person(t, { name: 'Joan Clarke' })]
  await t.app.driver.query('update users set email_verified_at = now() where id = $1', [guest.userId])
  const looms = unique('Looms')
  const joan = await signedIn(t, guest.email)
  await call(joan, 'POST', '/api/teams', { name: looms })
  const ada = await signedIn(t, boss.email)
  const team = await teamOf(ada)
  const space = await call<{ id: string }>(ada, 'POST', '/api/workspaces', { name: unique('Pilot'), description: 'x' })
  const pending = async () =>
    (await call<{ items: { id: string }[] }>(ada, 'GET', `/api/workspaces/${space.id}/invites`)).items
  const { page } = ada
  await ada.goto(`/workspaces/${space.id}?team=${team}`)
  const send = async () => {
    await page.getByLabel('E-mail').fill(guest.email)
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByRole('button', { name: `Cancel the invitation to ${guest.email}` }).waitFor()
  }
  await send()
  await page.getByRole('button', { name: `Cancel the invitation to ${guest.email}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel invitation' }).click()
  await page.getByRole('button', { name: `Cancel the invitation to ${guest.email}` }).waitFor({ state: 'detached' })
  expect(await pending()).toEqual([])
  await send()
  const [invite] = await pending()
  await inEachLook(ada, () => expectSound(ada, `/workspaces/${space.id}?team=${team}`, 'main .setrow'))

  await inEachLook(joan, () => expectSound(joan, `/workspace-invites/${invite?.id}`, 'main select'))
  await joan.goto('/inbox')
  await joan.page.getByRole('button', { name: /invites a team of yours/ }).click()
  await joan.page.getByLabel('Team that joins').selectOption({ label: looms })
  await joan.page.getByRole('button', { name: 'Accept' }).click()
  await joan.page.getByText(new RegExp(`^${looms} joined`)).waitFor()
  await joan.goto(`/workspace-invites/${invite?.id}`)
  await joan.see('This invitation was accepted.')
  await joan.page.getByRole('link', { name: 'Open the workspace' }).click()
  await joan.page.locator('main table').getByText(looms).waitFor()
  for (const one of [ada, joan]) await one.leave()
}, 300_000)
