import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { storeContactMessage } from '../../src/features/contact/service.ts'
import { mails } from '../../src/features/mail/table.ts'
import { users } from '../../src/features/users/table.ts'
import { person, systemCtx, testApp, unique } from '../support/app.ts'
import { EXAMPLE_TOKEN, exampleHost } from '../support/code-host.ts'
import { mailServer } from '../support/mail.ts'
import { call, signedIn, type Visitor } from './support.ts'

/** Every act that the pages of the administration offer, besides users and teams (dashboard-admin.test.ts). */
const folder = mkdtempSync(join(tmpdir(), 'tutti-backups-'))
const host = exampleHost()
host.add('tutti/tutti', {
  issues: [{ number: 7, title: 'Search finds nothing', open: true, labels: [], at: '2026-11-01T10:00:00Z' }],
})
const mail = await mailServer()
const t = await testApp({ ...host.settings, ...mail.settings, BACKUP_DIR: folder, background: 'off' })
afterAll(async () => {
  await t.close()
  rmSync(folder, { recursive: true, force: true })
})

const row = (who: Visitor, name: string) => who.page.getByRole('row', { name })
const gone = (who: Visitor, name: string) => row(who, name).waitFor({ state: 'detached' })
const dialog = (who: Visitor) => who.page.getByRole('dialog')
const setting = (who: Visitor, key: string, patch: object) => call(who, 'PATCH', `/api/admin/settings/${key}`, patch)

test('an administrator manages posts, categories, community, contact messages, sponsors, marketplace and tracker', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const ada = await person(t, { name: unique('Ada') })
  const before = new Date(Date.now() - 7 * 86_400_000).toISOString()
  await t.app.db.update(users).set({ emailVerifiedAt: before, createdAt: before }).where(eq(users.id, ada.userId))
  const root = await signedIn(t, boss.email)
  for (const key of ['blog', 'community', 'contact', 'marketplace']) await setting(root, key, { enabled: true })
  await setting(root, 'tracker', { repositories: ['tutti/tutti'], token: EXAMPLE_TOKEN })

  const [category, title] = [unique('News'), unique('Launch')]
  await root.goto('/admin/site')
  await root.page.getByLabel('Name of a new category').fill(category)
  await root.button('Add').click()
  await row(root, category).waitFor()
  await root.button('New post').click()
  await root.page.getByLabel('Title').fill(title)
  await root.page.getByLabel('Category').selectOption(category)
  await root.page.getByRole('textbox', { name: 'Text' }).fill('It *runs*.')
  await root.button('Publish').click()
  await row(root, title).getByText('live').waitFor()
  expect(await (await fetch(`${t.url}/blog`)).text()).toContain(title)
  await root.button(`Delete ${title}`).click()
  await dialog(root).getByRole('button', { name: 'Delete' }).click()
  await gone(root, title)
  await root.page.getByLabel('Show deleted posts').check()
  await root.button(`Restore ${title}`).click()
  await gone(root, title)
  await root.page.getByLabel('Show deleted posts').uncheck()
  await row(root, title).getByText('live').waitFor()
  await root.button(`Delete ${category}`).click()
  await gone(root, category)

  const post = unique('Hello')
  await ada.fetch('POST', '/api/community/posts', { title: post, content: 'To all' })
  await root.goto('/admin/community')
  await root.button(`Show ${post}`).click()
  await gone(root, post)
  await root.button('Visible').click()
  await root.button(`Pin ${post}`).click()
  await root.button(`Unpin ${post}`).waitFor()
  expect(await (await fetch(`${t.url}/community`)).text()).toContain(post)
  await root.button(`Hide ${post}`).click()
  await gone(root, post)
  await root.button('Hidden').click()
  await root.button(`Delete ${post}`).click()
  await dialog(root).getByRole('button', { name: 'Delete' }).click()
  await gone(root, post)

  const email = `${unique('grace')}@example.com`
  await storeContactMessage(systemCtx(t), { email, message: unique('Where is the imprint? '), token: 'x' })
  await root.goto('/admin/contact')
  await root.button(`Mark as read: message from ${email}`).click()
  await root.button(`Mark as read: message from ${email}`).waitFor({ state: 'detached' })
  await root.button(`Mark as spam: message from ${email}`).click()
  await gone(root, email)
  await root.button('Spam').click()
  await root.button(`Delete: message from ${email}`).click()
  await dialog(root).getByRole('button', { name: 'Delete' }).click()
  await gone(root, email)

  const sponsor = unique('Engines')
  await root.goto('/admin/sponsors')
  await root.button('New sponsor').click()
  await dialog(root).getByLabel('Name').fill(sponsor)
  await dialog(root).getByRole('combobox', { name: 'Tier' }).selectOption('gold')
  await root.button('Save').click()
  await row(root, sponsor).getByText('gold').waitFor()
  await root.button(`Edit ${sponsor}`).click()
  await dialog(root).getByLabel('Visible to visitors').uncheck()
  await root.button('Save').click()
  await row(root, sponsor).getByText('no', { exact: true }).waitFor()
  await root.button(`Delete ${sponsor}`).click()
  await dialog(root).getByRole('button', { name: 'Delete' }).click()
  await gone(root, sponsor)

  const skill = unique('Reviewing')
  await ada.fetch('POST', '/api/skills', { name: skill, content: 'x', scope: 'public' })
  await root.goto('/admin/marketplace')
  await root.page.getByRole('searchbox', { name: 'Find by name' }).fill(skill)
  await root.button('Find').click()
  await root.button(`Hide ${skill}`).click()
  await dialog(root).getByLabel('Reason').fill('It copies.')
  await dialog(root).getByRole('button', { name: 'Hide' }).click()
  await row(root, skill).getByText('It copies.').waitFor()
  await root.button(`Show again ${skill}`).click()
  await root.button(`Hide ${skill}`).waitFor()

  await root.goto('/admin/tracker')
  await root.button('Mirror now').click()
  await root.see('1 new, 0 changed')
  await root.see('#7 Search finds nothing')
  await root.leave()
}, 300_000)

test('an administrator answers a report, sends an announcement, resends a mail and makes a backup', async () => {
  const boss = await person(t, { admin: true, name: 'Root' })
  const ada = await person(t, { name: 'Ada' })
  const root = await signedIn(t, boss.email)
  const report = unique('It is slow')
  await ada.fetch('POST', '/api/issues', { title: report, description: 'Very.' })
  await root.goto('/admin/issues')
  await root.button(`Answer ${report}`).click()
  await dialog(root).getByLabel('Answer').fill('It is fast now.')
  await root.button('Send the answer').click()
  await row(root, report).getByText('It is fast now.').waitFor()
  // Leaving the page would end a request that is still on its way.
  const closed = root.page.waitForResponse((answer) => !!answer.request().postData()?.includes('closed'))
  await root.page.getByLabel(`Status of ${report}`).selectOption('closed')
  expect((await closed).ok()).toBe(true)
  await root.goto('/admin/issues')
  await row(root, report).waitFor()
  expect(await root.page.getByLabel(`Status of ${report}`).inputValue()).toBe('closed')

  const news = unique('Lunch at noon')
  await root.goto('/admin/announcements')
  await root.page.getByRole('textbox', { name: 'Title' }).fill(news)
  await root.button('Send to all users').click()
  await dialog(root).getByRole('button', { name: 'Send to all users' }).click()
  await row(root, news).waitFor()

  await root.goto('/admin/settings')
  await root.button('Send a test mail to yourself').click()
  await root.see('The mail server accepted the mail.')
  expect((await mail.mailTo(boss.email)).subject).toBe('This is a test')
  // Made with the account; nothing sends it in this test.
  const [waiting] = await t.app.db
    .update(mails)
    .set({ status: 'failed' })
    .where(eq(mails.recipient, ada.email))
    .returning()
  expect(waiting?.subject).toBe('Confirm your e-mail address')
  await root.goto('/admin/outbox')
  await root.button(`Send the mail to ${ada.email} again`).click()
  await root.button(`Send the mail to ${ada.email} again`).waitFor({ state: 'detached' })

  await root.goto('/admin/backups')
  await root.button('Make a backup now').click()
  await root.see('was written')
  await root.page.locator('main tbody tr').first().waitFor()
  await root.leave()
}, 300_000)
