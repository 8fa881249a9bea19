import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import type { MachineConfig } from '../../src/tunnel/machine-config.ts'
import { call as ask, member, person, testApp } from '../support/app.ts'
import { BINARY, bareEnv } from '../support/binary.ts'
import { atEnd } from '../support/cleanup.ts'
import { call, evil, expectSound, inEachLook, signedIn, teamOf, type Visitor } from './support.ts'

/** The page of tunnels, and a service behind one, in a real browser. */
const t = await testApp({ TUNNEL_PORT: '0' })
atEnd(() => t.close())
const home = mkdtempSync(join(tmpdir(), 'tutti-machine-'))
atEnd(() => rmSync(home, { recursive: true, force: true }))

/** Commands whose texts must stay texts. */
const commands: MachineConfig['commands'] = {
  greet: {
    description: evil.slice(0, 400),
    argv: [
      'sh',
      '-c',
      'echo "$1"; until [ -e "$2" ]; do sleep 0.05; done; echo two',
      'greet',
      '{name}',
      join(home, 'go'),
    ],
    folder: home,
    params: { name: { type: 'string', description: evil.slice(0, 400) } },
  },
  hang: { argv: ['sleep', '600'], folder: home },
}

/** The built program, with a tunnel.json of its own. */
function tunnelUp(machine: MachineConfig) {
  mkdirSync(join(home, 'tutti'), { recursive: true })
  writeFileSync(join(home, 'tutti', 'tunnel.json'), JSON.stringify(machine), { mode: 0o600 })
  const env = { ...bareEnv, XDG_CONFIG_HOME: home, HOME: home }
  const child = Bun.spawn([BINARY, 'tunnel', 'up', '--json'], {
    env,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  atEnd(() => child.kill())
  return child
}

/** Runs commands on the page of the tunnel, and sees their output as it comes. */
async function runsCommands(ada: Visitor): Promise<void> {
  const { page } = ada
  await ada.goto('/tunnels/preview')
  await page.getByText('tutti connect codex --tunnel preview/fs').waitFor()
  const form = page.getByRole('form', { name: 'greet' })
  await form.getByLabel('name').fill(evil.slice(0, 200))
  await ada.button('Run greet').click()
  const output = page.getByRole('region', { name: 'Output' })
  await output.getByText(evil.slice(0, 60)).waitFor()
  expect(await output.textContent()).not.toContain('two')
  writeFileSync(join(home, 'go'), '')
  await output.getByText('two').waitFor()
  await page.getByRole('status').locator('xpath=..').getByText('done', { exact: true }).waitFor()
  await ada.button('Run hang').click()
  await ada.button('Cancel').click()
  await page.getByText('Cancelled by', { exact: false }).waitFor()
  const history = page.getByRole('region', { name: 'History' })
  await history.getByText('cancelled').waitFor()
  await history.getByRole('button', { name: 'Show greet' }).click()
  await output.getByText('two').waitFor()
  // The request that opened the service before.
  await page.getByRole('region', { name: 'Requests' }).getByText('GET /deep').first().waitFor()
}

test('a tunnel comes online without a reload, is opened after signing in, and is managed by those who have access', async () => {
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
  const mcp = { fs: { argv: ['true'] } }
  const machine: MachineConfig = { ...claimed.body, server: t.app.url, services, commands, mcp }
  const child = tunnelUp(machine)

  const sheet = ada.page.locator('section.sheet', { hasText: 'preview' })
  await sheet.getByText('online', { exact: true }).waitFor()
  const address = `http://web--preview.localhost:${t.app.tunnels.listenerPort}`
  expect(await sheet.getByRole('link', { name: address }).getAttribute('href')).toBe(address)

  // By the dashboard and back, with a cookie of this host that the service does not see.
  const page = await ada.context.newPage()
  await page.goto(`${address}/deep?x=1`)
  await page.locator('#who').getByText(boss.email).waitFor()
  expect(page.url()).toBe(`${address}/deep?x=1`)
  expect(await page.locator('#cookies').textContent()).toBe('null')
  await page.close()

  await sheet.getByLabel('Who can use it').selectOption('organization')
  await ada.button('Pause').click()
  await sheet.getByText('paused', { exact: true }).waitFor()
  await ada.button('Resume').click()
  await ada.button('Pause').waitFor()

  await runsCommands(ada)

  const team = await teamOf(ada)
  const viewer = await signedIn(t, watcher.email)
  await expectSound(viewer, `/tunnels?team=${team}`, 'section.sheet')
  expect(await viewer.button('Delete').count()).toBe(0)
  await expectSound(viewer, `/tunnels/preview?team=${team}`, 'dl.facts dd')
  for (const name of ['Run greet', 'Delete', 'Pause']) expect(await viewer.button(name).count()).toBe(0)
  await viewer.leave()
  await inEachLook(ada, async () => {
    await expectSound(ada, '/tunnels', 'section.sheet')
    await expectSound(ada, '/tunnels/preview', 'form[aria-label=greet]')
    await expectSound(ada, '/tunnels/enter', 'h1')
  })

  await ada.goto('/tunnels/preview')
  await ada.button('Delete').click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await ada.see('No machine is connected')
  expect(await child.exited).not.toBe(0)
  await service.stop(true)
  await ada.leave()
}, 300_000)
