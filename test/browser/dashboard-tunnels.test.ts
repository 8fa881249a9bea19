import { expect, test } from 'bun:test'
import type { TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { Agent } from '../../src/tunnel/agent.ts'
import { call as ask, member, person, testApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { call, evil, expectSound, looks, signedIn, teamOf } from './support.ts'

/** The page of tunnels, and a service behind one, in a real browser. */
const t = await testApp({ TUNNEL_PORT: '0' })
atEnd(() => t.close())

test('a machine comes online by itself, is opened by signing in, and is governed where one may', async () => {
  const boss = await person(t)
  const watcher = await member(t, boss, 'viewer')
  const ada = await signedIn(t, boss.email)
  await ada.goto('/tunnels')
  await ada.see('No machine is connected')
  await ada.see('tutti tunnel up --http web=3000')

  const service = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const body = `<h1>Preview</h1><p id="who">${request.headers.get('tutti-email')}</p><p id="cookies">${request.headers.get('cookie')}</p>`
      return new Response(body, { headers: { 'content-type': 'text/html' } })
    },
  })
  const { nonce } = await call<TunnelRegistered>(ada, 'POST', '/api/tunnels/register', { name: evil, slug: 'preview' })
  const about = { hostname: evil.slice(0, 60), os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
  const claimed = await ask<{ tunnelId: string; ownerId: string; name: string; slug: string; token: string }>(
    t,
    'POST',
    '/api/tunnels/claim',
    { nonce, ...about },
  )
  const services = { web: { url: `http://127.0.0.1:${service.port}` }, gone: { url: 'http://127.0.0.1:1' } }
  const agent = new Agent({ machine: { ...claimed.body, server: t.app.url, services }, retryMs: [5, 20] })
  const running = agent.run()

  const sheet = ada.page.locator('section.sheet', { hasText: 'preview' })
  await sheet.getByText('online', { exact: true }).waitFor()
  const address = `http://web--preview.localhost:${t.app.tunnels.listening}`
  expect(await sheet.getByRole('link', { name: address }).getAttribute('href')).toBe(address)

  // By the dashboard and back, with a cookie of this host that the service does not see.
  const page = await ada.context.newPage()
  await page.goto(`${address}/deep?x=1`)
  await page.locator('#who').getByText(boss.email).waitFor()
  expect(page.url()).toBe(`${address}/deep?x=1`)
  expect(await page.locator('#cookies').textContent()).toBe('null')
  await page.close()

  await sheet.getByLabel('Access').selectOption('organization')
  await ada.button('Pause').click()
  await sheet.getByText('paused', { exact: true }).waitFor()
  await ada.button('Resume').click()
  await ada.button('Pause').waitFor()

  for (const look of looks) {
    const viewer = await signedIn(t, watcher.email, look)
    await expectSound(viewer, `/tunnels?team=${await teamOf(ada)}`, 'section.sheet')
    expect(await viewer.button('Delete').count()).toBe(0)
    await viewer.leave()
  }
  for (const look of looks) {
    const own = await signedIn(t, boss.email, look)
    await expectSound(own, '/tunnels', 'section.sheet')
    await expectSound(own, '/tunnels/enter', 'h1')
    await own.leave()
  }

  await ada.button('Delete').click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await ada.see('No machine is connected')
  expect(await running).toBe('refused')
  await service.stop(true)
  await ada.leave()
}, 300_000)
