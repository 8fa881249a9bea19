import { expect, test } from 'bun:test'
import { PASSWORD } from '../support/binary.ts'
import { api, fresh, linkTo, Visitor } from './support.ts'

/** What links in mails open. Looking at a page changes nothing; its button does. */
const NEW_PASSWORD = 'seven quiet lamps at dusk'

const signIn = async (who: Visitor, email: string, password: string) => {
  await who.goto('/login?next=/settings/sessions')
  await who.fill({ email, password })
  await who.button('Sign in').click()
  await who.see('this browser')
}

test('a forgotten password is replaced through a link that works once', async () => {
  const ada = await Visitor.open()
  const { email, token } = await ada.register('Ada Lovelace')
  await api('POST', '/api/auth/verify-email', { token: (await linkTo(email, 'verify_email')).split('#')[1] }, token)
  await ada.context.clearCookies()
  await ada.goto('/login')
  await ada.page.getByRole('link', { name: 'Forgot your password?' }).click()
  await ada.fill({ email })
  await ada.enter()
  await ada.see('we created a link to set a new password')
  const link = await linkTo(email, 'reset')
  await ada.goto(link)
  await ada.page.getByLabel('New password').fill('short')
  await ada.button('Set password').click()
  expect(ada.page.url()).toBe(`${ada.url}/reset`)
  await ada.page.getByLabel('New password').fill('password1234')
  await ada.enter()
  await ada.page.getByRole('alert').filter({ hasText: 'too easy to guess' }).waitFor()
  await ada.page.getByLabel('New password').fill(NEW_PASSWORD)
  await ada.enter()
  await ada.see('Your password was changed')
  expect(await ada.focused().textContent()).toContain('Your password was changed')
  expect(await ada.me()).toBeUndefined()
  await ada.page.getByRole('link', { name: 'Sign in' }).click()
  await ada.page.waitForURL('**/login*')
  await signIn(ada, email, NEW_PASSWORD)

  await ada.goto(link)
  await ada.page.getByLabel('New password').fill(PASSWORD)
  await ada.button('Set password').click()
  await ada.see('This link has been used')
  await ada.page.getByRole('link', { name: 'Request a new link' }).click()
  await ada.page.waitForURL('**/forgot')
  ada.secrets.push(NEW_PASSWORD)
  await ada.leave('POST /api/auth/reset-password 422', 'POST /api/auth/reset-password 410')
}, 300_000)

test('an e-mail address is confirmed by its link, also after signing in first', async () => {
  const ada = await Visitor.open()
  const { email } = await ada.register('Ada Lovelace')
  await ada.goto('/settings/security')
  await ada.see('is not confirmed yet')
  await ada.button('Request a new mail').click()
  await ada.see(`There is a new mail for ${email}.`)
  await ada.context.clearCookies()

  await ada.goto(await linkTo(email, 'verify_email'))
  await ada.page.waitForURL('**/login?next=%2Fverify-email')
  await ada.fill({ email, password: PASSWORD })
  await ada.button('Sign in').click()
  await ada.page.waitForURL('**/verify-email')
  await ada.button('Confirm').click()
  await ada.see('Your e-mail address is confirmed.')
  await ada.page.getByRole('link', { name: 'Your account' }).click()
  await ada.page.waitForURL('**/settings/profile*')
  await ada.goto('/settings/security')
  await ada.button('Change address').waitFor()
  expect(await ada.page.getByText('is not confirmed yet').count()).toBe(0)
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
}, 300_000)

test('a new e-mail address is confirmed from its mailbox, and reverted from the old one', async () => {
  const ada = await Visitor.open()
  const { email, token } = await ada.register('Ada Lovelace')
  // Only who has proved it can take it back.
  await api('POST', '/api/auth/verify-email', { token: (await linkTo(email, 'verify_email')).split('#')[1] }, token)
  const other = fresh('countess')
  await ada.goto('/settings/security')
  await ada.page.getByLabel('New e-mail address').fill(email)
  await ada.button('Change address').click()
  await ada.page.getByRole('alert').filter({ hasText: 'This is already your address.' }).waitFor()
  await ada.page.getByLabel('New e-mail address').fill(other)
  await ada.button('Change address').click()
  await ada.see(`Until you open it, your address stays ${email}.`)

  // The mail is read on another device, where one has to sign in first.
  const mailbox = await Visitor.open()
  const link = await linkTo(other, 'email_change')
  await mailbox.goto(link)
  await mailbox.page.waitForURL('**/login?next=%2Fconfirm-email')
  await mailbox.fill({ email, password: PASSWORD })
  await mailbox.button('Sign in').click()
  await mailbox.button('Change address').waitFor()
  expect(await ada.me()).toBe(email)
  await mailbox.button('Change address').click()
  await mailbox.see('Your e-mail address was changed.')
  await signIn(mailbox, other, PASSWORD)
  await mailbox.goto(link)
  await mailbox.button('Change address').click()
  await mailbox.see('This link has been used')
  await mailbox.goto('/settings/sessions')
  await mailbox.see('this browser')

  await ada.goto(await linkTo(email, 'email_undo'))
  await ada.button('Restore my address').click()
  await ada.see('Your old address was restored')
  // The page may already be on its way there by itself.
  await mailbox.goto('/settings/sessions').catch(() => undefined)
  await mailbox.page.waitForURL('**/login?next=%2Fsettings%2Fsessions*')
  await ada.page.getByRole('link', { name: 'Set a password' }).click()
  await ada.fill({ email })
  await ada.button('Request a link').click()
  await ada.see('we created a link')
  await ada.goto(await linkTo(email, 'reset'))
  await ada.page.getByLabel('New password').fill(NEW_PASSWORD)
  await ada.button('Set password').click()
  await ada.see('Your password was changed')
  await signIn(ada, email, NEW_PASSWORD)
  // The new address ended the session of a page that was open, which then asked in vain.
  expect(ada.refused).toContain('POST /api/auth/email-change 422')
  await ada.leave(...ada.refused)
  expect(mailbox.refused).toContain('POST /api/auth/email-change/confirm 410')
  await mailbox.leave(...mailbox.refused)
}, 300_000)

interface Team {
  id: string
  name: string
}

async function invite(name: string, email: string): Promise<Team> {
  const host = await Visitor.open()
  const { token } = await host.register('Charles Babbage')
  await host.context.close()
  const team = await api<Team>('POST', '/api/teams', { name }, token)
  await api('POST', `/api/teams/${team.id}/invite`, { email, role: 'member' }, token)
  return team
}

test('a person without an account registers through an invitation and joins the team', async () => {
  const ada = await Visitor.open()
  const email = fresh('ada')
  await invite('Analytical Engines', email)
  await ada.goto(await linkTo(email, 'invite'))
  await ada.see(`Charles Babbage invites ${email} to Analytical Engines as member.`)
  await ada.page.getByRole('link', { name: 'Create an account' }).click()
  await ada.see('Create an account to join Analytical Engines.')
  expect(await ada.page.getByLabel('E-mail').inputValue()).toBe(email)
  await ada.fill({ name: 'Ada Lovelace', password: PASSWORD })
  await ada.button('Create account').click()
  await ada.page.waitForURL(`${ada.url}/`)
  expect(await ada.teams()).toContain('Analytical Engines')
  // There is no mail server, so the link was handed over and proves no mailbox.
  await ada.goto('/settings/security')
  await ada.see('is not confirmed yet')
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
}, 300_000)

test('an invitation works only for its address: another account signs out first, and a used one says so', async () => {
  const ada = await Visitor.open()
  const stranger = await ada.register('Stranger')
  const { email } = await ada.register('Ada Lovelace')
  await invite('Analytical Engines', stranger.email)
  await invite('Second Team', stranger.email)
  const link = await linkTo(stranger.email, 'invite')
  await ada.goto(link)
  await ada.see(`You are signed in as ${email}.`)
  expect(await ada.button('Accept').count()).toBe(0)
  await ada.button('Sign out').click()
  await ada.page.getByRole('link', { name: 'I already have an account' }).click()
  await ada.fill({ email: stranger.email, password: PASSWORD })
  await ada.button('Sign in').click()
  await ada.page.waitForURL('**/invite')
  await ada.button('Accept').click()
  await ada.see('Welcome to Second Team.')
  expect(await ada.teams()).toContain('Second Team')
  // The other one is offered here too, once the address is proved.
  await ada.goto(await linkTo(stranger.email, 'verify_email'))
  await ada.button('Confirm').click()
  await ada.page.getByRole('link', { name: 'Your account' }).click()
  await ada.see('Charles Babbage invites you to Analytical Engines as member.')
  await ada.button('Decline').click()
  await ada.see('You declined the invitation')
  await ada.button('Accept').waitFor({ state: 'detached' })

  await ada.goto(link)
  await ada.page.getByRole('alert').filter({ hasText: 'was already used, withdrawn or replaced' }).waitFor()
  expect(await ada.button('Accept').count()).toBe(0)
  await ada.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401', 'POST /api/invites/preview 410')
}, 300_000)
