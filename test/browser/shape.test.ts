import { expect, test } from 'bun:test'
import { accountPages } from '../../src/pages/account-pages.ts'
import { PASSWORD } from '../support/binary.ts'
import { until } from '../support/until.ts'
import { Visitor } from './support.ts'

/** Those that lead elsewhere while nobody is signed in. */
const inside = ['/device']
const paths = ['/setup', ...Object.keys(accountPages).filter((path) => !inside.includes(path))]

/** Of a page as it is now, as far as somebody needs it who does not see it, or sees it on a phone. */
const look = (who: Visitor) =>
  who.page.evaluate<Record<string, unknown>>(`({
    headings: document.querySelectorAll('h1').length,
    lang: document.documentElement.lang,
    nameless: [...document.querySelectorAll('input:not([hidden]), select')].filter((field) => field.labels.length === 0).map((field) => field.name),
    silent: [...document.querySelectorAll('button, a')].filter((one) => !(one.ariaLabel ?? one.textContent).trim()).length,
    tooWide: document.documentElement.scrollWidth > innerWidth,
  })`)
const good = { headings: 1, lang: 'en', nameless: [], silent: 0, tooWide: false }

test('every page has a heading, names for its fields, and fits on a phone', async () => {
  const ada = await Visitor.open({ viewport: { width: 360, height: 700 }, colorScheme: 'dark' })
  expect(paths.length).toBeGreaterThan(9)
  for (const path of paths) {
    await ada.goto(path)
    expect({ path, ...(await look(ada)) }).toEqual({ path, ...good })
    expect(await ada.page.title()).toMatch(/^\w.* · Tutti$/)
  }
  await ada.register('W'.repeat(100), `${'w'.repeat(60)}@${'w'.repeat(60)}.example.com`)
  await ada.goto('/device')
  expect(await look(ada)).toEqual(good)
  await ada.leave()
}, 300_000)

test('without scripts no form is sent, so no password ends up in an address', async () => {
  const ada = await Visitor.open({ javaScriptEnabled: false })
  for (const path of ['/login', '/register', '/setup', '/reset']) {
    await ada.goto(path)
    // Browsers that are told to run no scripts still hide it, unlike those that cannot.
    expect(await ada.page.locator('noscript').textContent()).toContain('This page needs JavaScript.')
    expect(await ada.page.locator('form button').first().isDisabled()).toBe(true)
    await ada.page.locator('[name=password]').fill(PASSWORD)
    await ada.page.keyboard.press('Enter')
    expect(ada.page.url()).toBe(ada.url + path)
  }
  await ada.leave()
}, 300_000)

test('the content security policy refuses a form that the browser would send itself', async () => {
  const ada = await Visitor.open()
  await ada.goto('/login')
  const told = ada.page.waitForEvent('console', (message) => message.text().includes('form-action'))
  await ada.page.evaluate(`{
    const form = document.querySelector('form').cloneNode(true)
    document.querySelector('form').replaceWith(form)
    form.noValidate = true
    form.submit()
  }`)
  await told
  expect(ada.page.url()).toBe(`${ada.url}/login`)
  expect(ada.trouble.splice(0)).toEqual([expect.stringContaining("form-action 'none'")])
  await ada.leave()
}, 300_000)

test('the content security policy refuses markup that a script makes from text', async () => {
  const ada = await Visitor.open()
  await ada.goto('/login')
  const refused = await ada.page.evaluate<string>(
    `{ try { document.body.innerHTML = '<b>'; '' } catch (error) { error.message } }`,
  )
  expect(refused).toContain('TrustedHTML')
  // The browser tells of it beside the page.
  await until(() => ada.trouble.length > 0)
  ada.trouble.length = 0
  await ada.leave()
}, 300_000)
