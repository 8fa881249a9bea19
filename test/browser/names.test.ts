import { expect, test } from 'bun:test'
import { api, fresh, linkTo, thorough, Visitor } from './support.ts'

/** What people call themselves and their things is shown as they wrote it, and is never anything but text. */
const markup = '<img src=x onerror=alert(1)>'
const quotes = `"'><svg onload=alert(2)>`
/** Turns the direction of everything that follows, unless it is kept apart. */
const turned = `\u202Egnp.${markup}`
const agent = '<script>alert(3)</script>'
const local = `o'neil&amp=\${alert\`4\`}`

const noMarkup = async (who: Visitor) =>
  expect(await who.page.locator('main :is(img, svg, script, iframe, b)').count()).toBe(0)

thorough(
  'names with markup are shown as text in the settings, their dialogs and the invitation pages',
  async () => {
    const ada = await Visitor.open({ userAgent: agent })
    const { token } = await ada.register(markup, `${local}@example.com`)
    const team = await api<{ id: string }>('POST', '/api/teams', { name: quotes }, token)
    await api('POST', '/api/settings/api-keys', { name: turned }, token)
    await ada.goto('/settings/sessions')
    await ada.see(agent)
    await ada.goto('/settings/keys')
    await ada.button(`Revoke ${turned}`).click()
    await ada.page.getByRole('dialog').getByText(turned).waitFor()
    await ada.page.keyboard.press('Escape')
    await ada.goto('/settings/profile')
    await ada.page.getByLabel('Name', { exact: true }).fill(quotes)
    await ada.button('Save').click()
    await ada.page.getByText('Saved', { exact: true }).waitFor()
    expect(await ada.page.locator('#root :is(img, script, iframe)').count()).toBe(0)

    // Invited by the one with the strange name, to the team with the other one.
    const guest = await Visitor.open()
    const invited = `guest.${local}@example.com`
    await api('POST', `/api/teams/${team.id}/invite`, { email: invited }, token)
    await guest.goto(await linkTo(invited, 'invite'))
    await guest.see(`${quotes} invites ${invited} to ${quotes} as member.`)
    await noMarkup(guest)
    await guest.page.getByRole('link', { name: 'Create an account' }).click()
    await guest.see(`Create an account to join ${quotes}.`)
    expect(await guest.page.getByLabel('E-mail').inputValue()).toBe(invited)
    await noMarkup(guest)
    await guest.page.evaluate('sessionStorage.clear()')
    await guest.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
    await ada.leave()
  },
  300_000,
)

test('names with markup are shown as text on the device page', async () => {
  const ada = await Visitor.open()
  await ada.register('Ada Lovelace')
  const { userCode } = await api<{ userCode: string }>('POST', '/api/auth/device/request', {
    clientName: `${quotes}${markup}`,
  })
  await ada.goto('/device')
  await ada.fill({ code: userCode })
  await ada.button('Continue').click()
  await ada.see('Did you start this sign-in?')
  expect(await ada.page.locator('dd').first().textContent()).toBe(`${quotes}${markup}`)
  await noMarkup(ada)
  await ada.goto(`/device?code=${encodeURIComponent(markup)}`)
  expect(await ada.page.getByLabel('Code').inputValue()).toBe(markup)
  await ada.button('Continue').click()
  await ada.page.getByRole('alert').filter({ hasText: 'A code has 8 letters' }).waitFor()
  await noMarkup(ada)
  await ada.leave('GET /api/auth/device/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E 422')
}, 300_000)

test('a right-to-left name does not reverse the text around it', async () => {
  const [host, guest] = [await Visitor.open(), await Visitor.open({ viewport: { width: 1200, height: 600 } })]
  const { token } = await host.register('\u202EAda')
  const team = await api<{ id: string }>('POST', '/api/teams', { name: 'Engines' }, token)
  const invited = fresh('g')
  await api('POST', `/api/teams/${team.id}/invite`, { email: invited }, token)
  await guest.goto(await linkTo(invited, 'invite'))
  await guest.see(invited)
  const at = (selector: string) =>
    guest.page.locator(selector).evaluate((found) => (found as unknown as Box).getBoundingClientRect().x)
  expect(await at('#about bdi >> nth=0')).toBeLessThan(await at('#about bdi >> nth=1'))
  await host.context.close()
  await guest.page.evaluate('sessionStorage.clear()')
  await guest.leave('GET /api/auth/me 401', 'POST /api/auth/refresh 401')
}, 300_000)

interface Box {
  getBoundingClientRect(): { x: number }
}
