import { afterAll, expect, test } from 'bun:test'
import { person, testApp, unique } from '../support/app.ts'
import { call, evil, expectSound, inEachLook, isLive, signedIn, thorough } from './support.ts'

/** What administrators of the instance see and do. */
const t = await testApp()
afterAll(() => t.close())

test('an administrator suspends a user, reads the outbox and the audit log, and acts as a user', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const name = unique('Grace')
  const grace = await person(t, { name })
  const place = (await grace.fetch<{ name: string }>('POST', '/api/teams', { name: unique('Engines') })).body
  const root = await signedIn(t, boss.email)
  await root.goto('/admin')
  await root.page.getByRole('heading', { name: 'Checks' }).waitFor()
  await root.page.getByRole('link', { name: 'People', exact: true }).click()
  await root.page.getByRole('heading', { name: 'Administration: Users' }).waitFor()
  await root.page.getByRole('searchbox', { name: 'Find by name or address' }).fill(name)
  await root.button('Find').click()
  await root.button(`Suspend ${name}`).click()
  await root.page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await root.button(`Unsuspend ${name}`).click()
  await root.button(`Suspend ${name}`).waitFor()
  await root.page.getByRole('link', { name, exact: true }).click()
  await root.page.getByRole('heading', { level: 1, name }).waitFor()
  await root.see(grace.email)
  await root.button('Notify').click()
  await root.page.getByLabel('Title').fill('Lunch at noon')
  await root.page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await root.see(`${name} was notified`)
  await root.page.getByLabel('Role on this server').selectOption('admin')
  // Nobody acts as an administrator.
  await root.button('Act as').waitFor({ state: 'detached' })
  await root.page.getByLabel('Role on this server').selectOption('user')
  await root.button('Act as').waitFor()
  await root.page.getByRole('link', { name: place.name, exact: true }).click()
  await root.page.getByRole('heading', { level: 1, name: place.name }).waitFor()
  await root.page.getByLabel('E-mail address of a user').fill(boss.email)
  await root.button('Add').click()
  await root.see('Root was added')
  const changed = root.page.waitForResponse((answer) => !!answer.request().postData()?.includes('viewer'))
  await root.page.getByLabel('Role of Root').selectOption('viewer')
  expect((await changed).ok()).toBe(true)
  await root.button('Remove Root').click()
  await root.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await root.button('Remove Root').waitFor({ state: 'detached' })
  await root.page.getByLabel('Plan').fill('gold')
  await root.button('Save plan').click()
  await root.see('Saved')
  await root.page.getByRole('link', { name: 'Overview', exact: true }).click()
  await root.page.getByRole('link', { name: 'Audit', exact: true }).click()
  await root.page.getByRole('searchbox', { name: 'Name or address' }).fill(name)
  await root.page.getByLabel('About').selectOption('accounts')
  await root.page.getByLabel('Day').fill(await root.page.evaluate('new Date().toLocaleDateString("sv")'))
  await root.page.keyboard.press('Enter')
  const suspended = root.page.getByRole('cell', { name: `Root suspended ${name}` })
  await suspended.getByText('Details').click()
  await suspended.getByText('"type": "user.suspended"').waitFor()
  expect(await root.page.getByRole('cell', { name: 'created the team' }).count()).toBe(0)
  await root.page.getByLabel('Day').fill('2020-01-01')
  await root.button('Find').click()
  await root.see('No entries.')
  await root.button('Clear').click()
  await suspended.waitFor()
  await root.page.getByRole('link', { name: 'Messages', exact: true }).click()
  await root.page.getByRole('link', { name: 'Outbox', exact: true }).click()
  await root.page.getByRole('heading', { name: /Outbox/ }).waitFor()

  await root.goto('/admin/users')
  await isLive(root)
  await root.page.getByRole('searchbox', { name: 'Find by name or address' }).fill(name)
  await root.button('Find').click()
  await root.button(`Act as ${name}`).click()
  await root.page.getByLabel('Reason').fill('Asked for help')
  const theirs = new Promise<void>((resolve) => {
    root.page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => String(payload).includes('"op":"ready"') && resolve()),
    )
  })
  await root.page.getByRole('dialog').getByRole('button', { name: 'Act as' }).click()
  await root.see(`You are acting as ${name}`)
  await root.page
    .getByText(/\d+ mins? left/)
    .first()
    .waitFor()
  expect(await root.me()).toBe(boss.email)
  // A connection that is still being made would be refused when the acting ends.
  await theirs
  await root.button('Stop').click()
  await root.page.getByRole('heading', { name: /Administration: Users/ }).waitFor()
  await root.page.getByText(`You are acting as ${name}`).waitFor({ state: 'detached' })
  await root.leave()
}, 300_000)

test('an administrator resets a password, renames and deletes a team, changes a setting and removes a program', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const ada = await person(t, { name: unique('Ada') })
  const { id: teamId } = (await ada.fetch<{ id: string }>('POST', '/api/teams', { name: unique('Engines') })).body
  const root = await signedIn(t, boss.email)
  const { page } = root
  const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true })

  await fetch(`${t.url}/api/auth/otp/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: ada.email }),
  })
  await root.goto(`/admin/users/${ada.userId}`)
  await root.button('Read sign-in code').click()
  await inDialog('Read sign-in code').click()
  expect(await page.getByRole('dialog').locator('.figure').textContent()).toMatch(/^\d{6}$/)
  await inDialog('Cancel').click()
  await root.button('Reset password').click()
  await inDialog('Reset password').click()
  const link = String(await page.getByRole('dialog').locator('code').textContent())
  expect(link).toStartWith(`${root.url}/reset#svc_one_`)
  await inDialog('Done').click()
  expect(await page.getByText(link).count()).toBe(0)
  expect((await ada.fetch('GET', '/api/auth/me')).status).toBe(401)

  const name = unique('Looms')
  await root.goto(`/admin/teams/${teamId}`)
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await root.button('Save').click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await root.button('Delete team').click()
  expect(await inDialog('Delete team').isDisabled()).toBe(true)
  await page.getByRole('dialog').getByLabel('Name').fill(name)
  await inDialog('Delete team').click()
  await page.getByRole('heading', { name: /Administration: Teams/ }).waitFor()
  await root.see(`${name} was deleted`)

  // Other tests of the process may have enabled it.
  await call(root, 'PATCH', '/api/admin/settings/contact', { enabled: false })
  await root.goto('/admin/settings')
  const key = page.locator('details', { has: page.getByText('contact', { exact: true }) })
  await key.locator('summary').click()
  await key.getByLabel('Enabled').check()
  // Another list of the page is loaded last, when the new version has already replaced the form.
  const replaced = Promise.withResolvers<void>()
  await page.route('**/api/admin/config', (route) => replaced.promise.then(() => route.continue()))
  await key.getByRole('button', { name: 'Save contact' }).click()
  await key.locator('form').waitFor({ state: 'hidden' })
  replaced.resolve()
  await root.see('Saved: contact')
  await page.unroute('**/api/admin/config')

  const program = unique('Robot')
  await root.goto('/admin/programs')
  await root.button('Add a program').click()
  await page.getByRole('dialog').getByLabel('Name').fill(program)
  await page
    .getByRole('dialog')
    .getByLabel(/^Redirect URIs/)
    .fill('https://robot.example.com/callback')
  await inDialog('Add a program').click()
  await root.see('Client ID')
  await inDialog('Done').click()
  await page.getByRole('row', { name: program }).getByText('an administrator').waitFor()
  await root.button(`Remove ${program}`).click()
  await inDialog('Remove').click()
  await page.getByRole('row', { name: program }).waitFor({ state: 'detached' })
  await root.leave()
}, 300_000)

test('the administration has five parts, and every page of a part has its own address', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const root = await signedIn(t, boss.email)
  const pages = {
    Overview: ['', 'audit'],
    People: ['users', 'teams', 'programs'],
    Messages: ['issues', 'contact', 'announcements', 'outbox'],
    Content: ['site', 'community', 'marketplace', 'sponsors', 'tracker'],
    System: ['settings', 'backups'],
  }
  for (const [part, paths] of Object.entries(pages))
    for (const path of paths) {
      await root.goto(`/admin/${path}`.replace(/\/$/, ''))
      const own = root.page.getByRole('navigation', { name: part, exact: true })
      await own.locator('[aria-current=page]').waitFor()
      expect([path, await own.getByRole('link').count()]).toEqual([path, paths.length])
      const parts = root.page.getByRole('navigation', { name: 'Administration', exact: true })
      expect(await parts.locator('[aria-current]').textContent()).toBe(part)
      expect(await parts.getByRole('link').allTextContents()).toEqual(Object.keys(pages))
    }
  await root.leave()
}, 300_000)

thorough(
  'the admin pages show stored markup as text, and return 404 to other users',
  async () => {
    const boss = await person(t, { admin: true, name: 'Root' })
    const evilOne = await person(t, { name: evil })
    const mallory = await signedIn(t, evilOne.email)
    await call(mallory, 'POST', '/api/issues', { title: evil, description: evil })
    await mallory.goto('/admin')
    await mallory.see('Page not found')
    await mallory.leave()
    const root = await signedIn(t, boss.email)
    await inEachLook(root, async () => {
      await expectSound(root, '/admin', 'main .setrow')
      for (const path of ['users', 'audit', 'issues']) await expectSound(root, `/admin/${path}`, 'main tbody tr')
      await expectSound(root, '/admin/programs', 'main .btn')
      await expectSound(root, '/admin/announcements', 'main form')
      await expectSound(root, `/admin/users/${evilOne.userId}`, 'main tbody tr')
      await expectSound(root, `/admin/teams/${evilOne.organizationId}`, 'main tbody tr')
    })
    await root.leave()
  },
  300_000,
)
