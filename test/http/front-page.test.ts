import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ownApp } from '../features/support.ts'
import { person, type TestApp } from '../support/app.ts'

let t: TestApp
beforeAll(async () => {
  t = await ownApp(undefined, { background: 'off' })
})
afterAll(() => t.close())

const front = async (headers: Record<string, string> = {}) => {
  const response = await fetch(`${t.url}/`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('the front page', () => {
  test('leads to signing in and to a new account, without a script', async () => {
    const { status, headers, text } = await front()
    expect(status).toBe(200)
    expect(text).toContain('<a class="button" href="/login">Sign in</a>')
    expect(text).toContain('href="/register">Create an account</a>')
    expect(text).toContain(`This is <strong>${new URL(t.url).host}</strong>.`)
    expect(text).not.toMatch(/<script|style=|\son\w+=/)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const [, path] of text.matchAll(/href="(\/[^"]*)"/g)) expect((await fetch(t.url + path)).status).toBe(200)
  })

  test('offers no account where registration is closed, and names the operator', async () => {
    const boss = await person(t, { admin: true })
    const set = (key: string, values: object) => boss.fetch('PATCH', `/api/admin/settings/${key}`, values)
    expect((await set('registration', { open: false })).status).toBe(200)
    expect((await set('general', { siteName: 'Ada <b>& Co' })).status).toBe(200)
    const { text } = await front()
    expect(text).not.toContain('Create an account')
    expect(text).toContain('New accounts need an invitation.')
    expect(text).toContain(', run by Ada &#60;b&#62;&#38; Co.')
  })

  test('has the theme that the visitor has chosen', async () => {
    expect((await front({ cookie: 'theme=dark' })).text).toStartWith(
      '<!doctype html><html lang="en" data-theme="dark">',
    )
    expect((await front({ cookie: 'theme=dark"><script>' })).text).not.toContain('<script')
    expect((await front()).text).toStartWith('<!doctype html><html lang="en">')
  })
})
