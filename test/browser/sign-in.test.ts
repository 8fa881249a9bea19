import { describe, expect, test } from 'bun:test'
import { PASSWORD } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { api, codeTo, expectSound, fresh, linkTo, server, Visitor } from './support.ts'

const sessionsOf = (who: Visitor) => who.page.getByRole('list', { name: 'Active sessions' })

/** Every way in that the sign-in page offers by itself. */
const onAccount = async (who: Visitor, email: string) => {
  await who.page.waitForURL(`${new URL(who.page.url()).origin}/`)
  await who.page.getByRole('heading', { level: 1 }).first().waitFor()
  await who.goto('/settings/sessions')
  await sessionsOf(who).getByText('this browser').waitFor()
  expect(await who.me()).toBe(email)
}

test('a user signs in by password; a wrong one is reported, and one click sends one request', async () => {
  const ada = await Visitor.open()
  const { email } = await ada.register('Ada Lovelace')
  await ada.context.clearCookies()
  await ada.goto('/login?next=//evil.example/account')
  await ada.fill({ email: email.toUpperCase(), password: 'not the right one' })
  await ada.enter()
  await ada.page.getByRole('alert').filter({ hasText: 'E-mail address or password is wrong.' }).waitFor()
  await ada.fill({ password: PASSWORD })
  await ada.context.setOffline(true)
  await ada.button('Sign in').click()
  await ada.page.getByRole('alert').filter({ hasText: 'The server did not respond.' }).waitFor()
  // The browser tells of it beside the page.
  await until(() => ada.trouble.length > 0)
  expect(ada.trouble.splice(0)).toEqual([expect.stringContaining('ERR_INTERNET_DISCONNECTED')])
  await ada.context.setOffline(false)
  const asked = ada.page.waitForRequest('**/api/auth/login')
  await ada.button('Sign in').dblclick()
  await asked
  await onAccount(ada, email)
  await sessionsOf(ada).getByText('by password').first().waitFor()
  // One for registering, one for signing in.
  expect(await sessionsOf(ada).getByRole('listitem').count()).toBe(2)
  await ada.leave('POST /api/auth/login 401')
}, 300_000)

test('a user signs in by a mailed code, which may contain a space', async () => {
  const ada = await Visitor.open()
  const email = fresh('ada.king')
  await ada.goto('/login')
  await ada.button('Use a code').click()
  await ada.page.getByRole('alert').filter({ hasText: 'Enter your e-mail address first.' }).waitFor()
  await ada.fill({ email })
  await ada.button('Use a code').click()
  await ada.see('we created a six-digit code')
  expect(await ada.focused().getAttribute('name')).toBe('code')
  const code = await codeTo(email)
  ada.secrets.push(code)
  await ada.fill({ code: code === '000000' ? '111111' : '000000' })
  await ada.enter()
  await ada.page.getByRole('alert').filter({ hasText: 'This code is wrong' }).waitFor()
  await ada.fill({ code: ` ${code.slice(0, 3)} ${code.slice(3)}` })
  await ada.enter()
  await onAccount(ada, email)
  // Nobody had an account with this address: now somebody has, without a password, and sets one.
  await ada.page.getByRole('button', { name: 'Your account: Ada King' }).waitFor()
  await ada.goto('/settings/security')
  await ada.page.getByLabel('New password').fill(PASSWORD)
  await ada.button('Change password').click()
  await ada.see('Your password was changed.')
  await ada.leave('POST /api/auth/otp/verify 401')
}, 300_000)

test('a user signs in by a mailed link in the same browser; the address bar and the history do not keep it', async () => {
  const ada = await Visitor.open()
  const email = fresh('ada')
  await ada.goto('/login')
  await ada.fill({ email })
  await ada.button('Use a link').click()
  await ada.see('we created a link')
  const link = await linkTo(email, 'magic_link')
  await ada.goto(link)
  await ada.button('Sign in').waitFor()
  expect(ada.page.url()).toBe(`${ada.url}/magic`)
  expect(await ada.me()).toBeUndefined()
  await ada.button('Sign in').click()
  await onAccount(ada, email)

  // Once.
  await ada.goto(link)
  await ada.button('Sign in').click()
  await ada.see('This link has been used or replaced, or has expired.')
  await ada.page.getByRole('link', { name: 'Sign in another way' }).click()
  await ada.page.waitForURL('**/login')
  await ada.goto('/magic')
  await ada.see('This page needs the link from the mail.')
  expect(await ada.button('Sign in').count()).toBe(0)
  await ada.leave('POST /api/auth/magic-link/verify 410')
}, 300_000)

test('a mailed link opened in another browser shows a code, which signs in the first browser', async () => {
  const [laptop, phone] = [await Visitor.open(), await Visitor.open()]
  const email = fresh('ada')
  await laptop.goto('/login?next=/device')
  await laptop.fill({ email })
  await laptop.button('Use a link').click()
  await laptop.see('If you open it in another browser, it shows a code to enter here.')
  await phone.goto(await linkTo(email, 'magic_link'))
  await phone.button('Sign in').click()
  await phone.see('You requested this link in another browser.')
  await phone.see('do not share the code')
  const code = (await phone.page.locator('p.code').textContent()) as string
  expect(await phone.me()).toBeUndefined()
  for (const browser of [laptop, phone]) browser.secrets.push(code)
  await laptop.fill({ code })
  await laptop.button('Sign in').click()
  await laptop.page.waitForURL(`${laptop.url}/device`)
  expect(await laptop.me()).toBe(email)
  await laptop.leave()
  await phone.leave('POST /api/auth/magic-link/verify 409')
}, 300_000)

test('a user signs in by a passkey that was added in the settings', async () => {
  const ada = await Visitor.open()
  const cdp = await ada.authenticator()
  const { email } = await ada.register('Ada Lovelace')
  const add = async (name: string) => {
    await ada.page.getByLabel('Name', { exact: true }).fill(name)
    await ada.button('Add a passkey').click()
  }
  const withPasskey = async () => {
    await ada.context.clearCookies()
    await ada.goto('/login')
    await ada.button('Use a passkey').click()
  }
  await ada.goto('/settings/passkeys')
  await add('blue key')
  await ada.see('never used')
  await add('the same one')
  await ada.page.getByRole('alert').filter({ hasText: 'This device already has a passkey for your account.' }).waitFor()
  await withPasskey()
  await onAccount(ada, email)
  await sessionsOf(ada).getByText('by passkey').waitFor()
  await ada.goto('/settings/passkeys')
  await ada.button('Remove blue key').click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await ada.see('None yet.')
  await withPasskey()
  await ada.page.getByRole('alert').filter({ hasText: 'does not belong to an account on this server' }).waitFor()
  await cdp.send('WebAuthn.disable')
  await ada.leave('POST /api/auth/passkey/authenticate/finish 401')
}, 300_000)

test('the sign-in page names the address at which passkeys work', async () => {
  const { url, output } = await server()
  const ada = await Visitor.open({ at: { url: url.replace('localhost', '127.0.0.1'), output } })
  await ada.goto('/login?next=/device')
  await ada.see('For passkeys, open')
  expect(await ada.button('Use a passkey').count()).toBe(0)
  expect(await ada.page.getByRole('link', { name: url }).getAttribute('href')).toBe(`${url}/login?next=/device`)
  await ada.register('Ada Lovelace')
  await ada.goto('/settings/passkeys')
  await ada.page.getByRole('link', { name: url }).waitFor()
  expect(await ada.button('Add a passkey').count()).toBe(0)
  await ada.leave()
}, 300_000)

test.each([
  ['/device?code=BCDF-GHJK', '/device?code=BCDF-GHJK'],
  ['/invite', '/invite'],
  ...[
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/%2f%2fevil.example',
    'javascript:alert(1)',
    '/\t/evil.example',
  ].map((next) => [next, '/'] as const),
  // Not even to ourselves, where only being asked would do something.
  ['/api/auth/oauth/github?link=1', '/'],
  ['/settings/accounts#error=forbidden', '/'],
])('after signing in, %j leads to %s', async (next, target) => {
  const ada = await signedOut
  await ada.goto(`/login?next=${encodeURIComponent(next)}`)
  const { origin } = new URL(ada.url)
  const ways = await ada.page.evaluate<string>(
    `import('/assets/api.js').then((api) => new URL(api.nextPath(), location.href).href)`,
  )
  expect(ways).toBe(origin + target)
})
const signedOut = Visitor.open()

describe('the page that asks who created an account', () => {
  /** Registers, forgets the session, and proves the mailbox by a code. */
  async function askedByCode(who: Visitor, next = '/'): Promise<{ email: string; token: string }> {
    const account = await who.register('Ada Lovelace')
    await who.context.clearCookies()
    await proveByCode(who, account.email, next)
    return account
  }
  async function proveByCode(who: Visitor, email: string, next = '/'): Promise<void> {
    await who.goto(`/login?next=${next}`)
    await who.fill({ email })
    await who.button('Use a code').click()
    await who.see('we created a six-digit code')
    const code = await codeTo(email)
    who.secrets.push(code)
    await who.fill({ code })
    await who.enter()
    await who.see('This account was created before its address was confirmed. Did you create it?')
    expect(await who.me()).toBeUndefined()
  }
  const asked = ['POST /api/auth/otp/verify 409', 'POST /api/auth/confirm-account 409']

  test('lists what would be removed, and keeps everything for a user who knows the password', async () => {
    const ada = await Visitor.open()
    const { email, token } = await askedByCode(ada, '/device')
    expect(ada.page.url()).toBe(`${ada.url}/confirm-account?next=%2Fdevice`)
    expect(await ada.page.locator('#holds li').allTextContents()).toEqual([
      'the password',
      'a browser that is signed in',
    ])
    // The question survives when the page is opened again.
    await ada.page.setViewportSize({ width: 320, height: 700 })
    await expectSound(ada, '/confirm-account?next=/device', '#question:not([hidden])')
    await ada.fill({ password: 'not the right one' })
    await ada.enter()
    await ada.page.getByRole('alert').filter({ hasText: 'E-mail address or password is wrong.' }).waitFor()
    await ada.fill({ password: PASSWORD })
    await ada.enter()
    await ada.page.waitForURL(`${ada.url}/device`)
    expect(await ada.me()).toBe(email)
    await api('GET', '/api/auth/me', undefined, token)
    await ada.leave(...asked, 'POST /api/auth/confirm-account 409', 'POST /api/auth/confirm-account 401')
  }, 300_000)

  test('accepts a passkey as proof', async () => {
    const ada = await Visitor.open()
    await ada.authenticator()
    const { email } = await ada.register('Ada Lovelace')
    await ada.goto('/settings/passkeys')
    await ada.page.getByLabel('Name', { exact: true }).fill('blue key')
    await ada.button('Add a passkey').click()
    await ada.see('never used')
    await ada.context.clearCookies()
    await proveByCode(ada, email)
    await ada.button('Use a passkey').click()
    await onAccount(ada, email)
    // The first one, and the one that the answer began.
    expect(await sessionsOf(ada).getByRole('listitem').count()).toBe(2)
    await ada.leave(...asked)
  }, 300_000)

  test('removes the access of a stranger, and says if the question was answered already', async () => {
    const [stranger, ada] = [await Visitor.open(), await Visitor.open()]
    const { email } = await stranger.register('Eve')
    await ada.goto('/login')
    await ada.fill({ email })
    await ada.button('Use a link').click()
    await ada.see('we created a link')
    await ada.goto(await linkTo(email, 'magic_link'))
    await ada.button('Sign in').click()
    await ada.see('These stop working:')
    const second = await ada.context.newPage()
    const ticket = await ada.page.evaluate<string>(`sessionStorage.getItem('confirm-account')`)
    await second.goto(`${ada.url}/confirm-account#${ticket}`)
    await second.getByText('These stop working:').waitFor()
    await ada.button('Remove this access and sign in').click()
    await onAccount(ada, email)
    expect(await stranger.me()).toBeUndefined()
    await second.getByRole('button', { name: 'Remove this access and sign in' }).click()
    await second.getByText('This question was already answered').waitFor()
    await stranger.context.close()
    await ada.leave('POST /api/auth/magic-link/verify 409', 'POST /api/auth/confirm-account 409')
  }, 300_000)
})
