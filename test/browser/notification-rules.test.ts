import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import type { PreferencesAnswer } from '../../src/features/users/schema.ts'
import { ownApp } from '../features/support.ts'
import { person, systemCtx, type TestApp } from '../support/app.ts'
import { type MailServer, mailServer } from '../support/mail.ts'
import { until } from '../support/until.ts'
import { call, expectSound, inEachLook, signedIn, type Visitor } from './support.ts'

const notifyAll = write('test.notify', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
let server: MailServer
let t: TestApp
beforeAll(async () => {
  server = await mailServer()
  t = await ownApp(undefined, { ...server.settings, background: 'on', RATE_LIMIT_MAIL: '1000000' })
}, 300_000)
afterAll(() => t?.close())

const chosen = async (who: Visitor) =>
  (await call<PreferencesAnswer>(who, 'GET', '/api/settings/preferences')).notifications

describe('Settings › Notifications', () => {
  test('chooses by keyboard what is mailed and when, sends the daily mail, pauses and resumes', async () => {
    const { email, userId } = await person(t, { confirmed: true })
    const ada = await signedIn(t, email)
    await ada.goto('/settings/notifications')
    const { keyboard } = ada.page
    await ada.page.getByRole('switch', { name: 'You are mentioned: inbox' }).focus()
    await keyboard.press('Space')
    await until(async () => !(await chosen(ada)).rules.mention.inbox)
    // Off, At once, Daily.
    for (let i = 0; i < 3; i++) await keyboard.press('Tab')
    await keyboard.press('Enter')
    await until(async () => (await chosen(ada)).rules.mention.mail === 'daily')
    await ada.page.getByRole('combobox', { name: 'Send at' }).selectOption('17:30')
    await ada.page.getByRole('combobox', { name: 'on', exact: true }).selectOption('every day')
    await until(async () => {
      const { at, days } = (await chosen(ada)).daily
      return at === '17:30' && days.length === 7
    })

    await notifyAll(systemCtx(t), [{ userId, reason: 'mention', title: 'Grace mentioned you' }])
    await ada.button('Send me one now').click()
    await ada.see('Sent: 1 notification')
    expect((await server.mailTo(email)).subject).toBe('Grace mentioned you')
    expect((await call<{ items: unknown[] }>(ada, 'GET', '/api/notifications')).items).toEqual([])

    await ada.button('Pause for…').focus()
    await keyboard.press('Enter')
    // The menu gets the focus some frames before its first entry does.
    await ada.page.locator('[role=menuitem]:focus', { hasText: 'One hour' }).waitFor()
    await keyboard.press('ArrowDown')
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await ada.page.getByText('Mail and push are paused until').waitFor()
    expect(Date.parse((await chosen(ada)).pausedUntil ?? '')).toBeGreaterThan(Date.now() + 6 * 86_400_000)
    await ada.button('Resume').click()
    await ada.button('Pause for…').waitFor()
    expect((await chosen(ada)).pausedUntil).toBeNull()
    await ada.page.reload()
    await ada.page.getByRole('switch', { name: 'You are mentioned: inbox', checked: false }).waitFor()
    await inEachLook(ada, () => expectSound(ada, '/settings/notifications', '.rules'))
    await ada.leave()
  }, 300_000)

  test('names the missing mail server', async () => {
    const silent = await ownApp(undefined, { background: 'off' })
    const ada = await signedIn(silent, (await person(silent)).email)
    await ada.goto('/settings/notifications')
    await ada.page.getByText('This server sends no mail.').waitFor()
    expect(await ada.page.getByText('Daily mail').count()).toBe(0)
    await ada.leave()
    await silent.close()
  }, 300_000)
})
