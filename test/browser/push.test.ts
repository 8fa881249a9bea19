import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CDPSession, Worker } from 'playwright-core'
import { write } from '../../src/action.ts'
import { machine } from '../../src/auth/policy.ts'
import { type Notice, notify } from '../../src/features/notifications/service.ts'
import { ownApp } from '../features/support.ts'
import { person, systemCtx, type TestApp } from '../support/app.ts'
import { Browser, PushService } from '../support/push-service.ts'
import { call, expectSound, inEachLook, signedIn, thorough, type Visitor } from './support.ts'

/**
 * Push notifications in a real browser. Chromium has no push service here, so the test plays that of the browser: the
 * server sends to it, and what it received is decrypted and given to the service worker by the debugger.
 */
const service = new PushService()
const origin = `http://127.0.0.1:${service.port}`
const notifyAll = write('test.notify', machine, (ctx, notices: Notice[]) => notify(ctx, ...notices))
let t: TestApp
beforeAll(async () => {
  t = await ownApp(undefined, { background: 'on', PUSH: 'on', OUTBOUND_ALLOW: `127.0.0.1:${service.port}` })
}, 300_000)
afterAll(async () => {
  await t?.close()
  await service.stop()
})

/** Opens the settings with a push manager that returns the subscription of `device`. */
async function atSettings(device: Browser): Promise<{ ada: Visitor; userId: string }> {
  const { email, userId } = await person(t)
  const ada = await signedIn(t, email)
  await ada.context.grantPermissions(['notifications'], { origin: ada.url })
  await ada.page.addInitScript(`{
    let current = null
    const subscription = {
      toJSON: () => (${JSON.stringify(device.subscription(origin))}),
      unsubscribe: async () => { current = null; return true },
    }
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly || applicationServerKey.length !== 87) throw new Error('wrong options')
      current = subscription
      return subscription
    }
    PushManager.prototype.getSubscription = async () => current
  }`)
  await ada.goto('/settings/notifications')
  return { ada, userId }
}

/** Gives a message to the service worker, as the push service of the browser would. */
async function deliver(who: Visitor, cdp: CDPSession, data: string): Promise<void> {
  const registered = new Promise<string>((resolve) =>
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [one] }) => one && resolve(one.registrationId)),
  )
  await cdp.send('ServiceWorker.enable')
  await cdp.send('ServiceWorker.deliverPushMessage', { origin: who.url, registrationId: await registered, data })
}

describe('Settings › Notifications', () => {
  test('turns push notifications on by a click, shows what was sent, opens its page, and turns them off', async () => {
    const device = new Browser()
    const { ada, userId } = await atSettings(device)
    await ada.page.evaluate('navigator.serviceWorker.ready.then(() => true)')
    await ada.see('None yet.')
    expect((await call<{ items: unknown[] }>(ada, 'GET', '/api/push/subscriptions')).items).toEqual([])
    await ada.button('Turn on in this browser').focus()
    await ada.page.keyboard.press('Enter')
    const devices = ada.page.getByRole('list', { name: 'Push notifications' })
    await devices.getByText('this browser').waitFor()

    const about = { reason: 'question', title: 'Ada asks', message: 'Which folder?', link: '/tasks/LAN-4?team=x' }
    await notifyAll(systemCtx(t), [{ userId, ...about }])
    const [message] = await service.messagesTo(device, 1)
    const text = device.decrypt(message?.body ?? Buffer.alloc(0))
    const cdp = await ada.context.newCDPSession(ada.page)
    const [worker] = ada.context.serviceWorkers() as [Worker]
    // This Chromium shows no notifications and opens no windows, so the worker notes what it would show and open.
    await worker.evaluate(`void (self.shown = new Promise((resolve) => {
      self.registration.showNotification = async (title, options) => resolve({ title, ...options })
    }))`)
    await deliver(ada, cdp, text)
    expect(await worker.evaluate('self.shown')).toMatchObject({ title: 'Ada asks', body: 'Which folder?' })
    const opened = await worker.evaluate(`(async () => {
      const opened = new Promise((resolve) => (self.clients.openWindow = resolve))
      const notification = { data: (await self.shown).data, close() {} }
      self.dispatchEvent(Object.assign(new ExtendableEvent('notificationclick'), { notification }))
      return opened
    })()`)
    expect(opened).toBe(`${ada.url}/tasks/LAN-4?team=x`)

    await devices.getByRole('button', { name: /^Remove / }).click()
    await ada.see('None yet.')
    expect(
      await ada.page.evaluate('navigator.serviceWorker.ready.then((r) => r.pushManager.getSubscription())'),
    ).toBeNull()
    await ada.leave()
  }, 300_000)

  test('says why when the browser blocks notifications, and then sends nothing to the server', async () => {
    const { ada } = await atSettings(new Browser())
    await ada.context.clearPermissions()
    await ada.button('Turn on in this browser').click()
    await ada.page.getByText('The browser blocks notifications from this site.').waitFor()
    expect((await call<{ items: unknown[] }>(ada, 'GET', '/api/push/subscriptions')).items).toEqual([])
    await ada.leave()
  }, 300_000)

  thorough(
    'is sound in both looks with a browser in the list',
    async () => {
      const { ada } = await atSettings(new Browser())
      await ada.button('Turn on in this browser').click()
      await ada.page.locator('.setrow').getByText('this browser').waitFor()
      await inEachLook(ada, () => expectSound(ada, '/settings/notifications', '.setrow'))
      await ada.leave()
    },
    300_000,
  )

  test('has no control where the operator has not turned push on', async () => {
    const off = await ownApp(undefined, { background: 'on', PUSH: 'off' })
    const { email } = await person(off)
    const ada = await signedIn(off, email)
    await ada.goto('/settings/notifications')
    await ada.page.getByRole('columnheader', { name: 'Mail' }).waitFor()
    expect(await ada.page.getByRole('columnheader', { name: 'Push' }).count()).toBe(0)
    await ada.page.waitForLoadState('networkidle')
    expect(await ada.page.getByText('Push notifications').count()).toBe(0)
    await ada.leave()
    await off.close()
  }, 300_000)
})
