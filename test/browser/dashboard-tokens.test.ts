import { expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Locator } from 'playwright-core'
import { tools } from '../../src/all-features.ts'
import { logged, member, PASSWORD, person, sharedApp, unique } from '../support/app.ts'
import {
  call,
  evil,
  expectSound,
  fresh,
  inEachLook,
  type Made,
  signedIn,
  teamOf,
  thorough,
  Visitor,
} from './support.ts'

/** From a stranger's first visit to an agent that plans; and who may do what with agents and tokens. */
const t = await sharedApp()
const at = { url: t.app.url, output: () => logged.join('') }

async function connected(secret: string): Promise<Client> {
  const client = new Client({ name: 'claude-code', version: '2.1.40' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${t.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${secret}` } },
    }),
  )
  return client
}

test('a new user registers, creates a team, invites, creates a token, connects a real client and sees its plan', async () => {
  const ada = await Visitor.open({ at, locale: 'en-GB' })
  let clicks = 0
  /** Whoever fills in a field clicks into it first. */
  const fill = async (field: Locator, text: string) => {
    clicks++
    await field.fill(text)
  }
  const press = async (name: string) => {
    clicks++
    await ada.button(name).click()
  }
  await ada.goto('/register')
  await fill(ada.page.getByLabel('Name'), 'Ada Lovelace')
  await fill(ada.page.getByLabel('E-mail'), fresh('Ada'))
  await fill(ada.page.getByLabel('Password'), PASSWORD)
  await press('Create account')
  await ada.page.waitForURL('**/welcome')
  const team = unique('Engines')
  await fill(ada.page.getByLabel('Name of the team'), team)
  await press('Create team')
  await fill(ada.page.getByLabel('E-mail'), fresh('Grace'))
  await press('Invite')
  expect(await ada.page.locator('.secret code').textContent()).toStartWith(`${t.app.url}/invite#svc_inv_`)
  await ada.page.getByRole('button', { name: 'Next' }).last().click()
  clicks++
  await press('Create token')
  await ada.see('Waiting for first connection…')
  const secret = String(await ada.page.locator('.secret code').textContent())
  expect(await ada.page.locator('.code.cmd').textContent()).toContain(`Bearer ${secret}`)
  await ada.page.getByRole('tab', { name: 'Other, SSE' }).click()
  expect(await ada.page.locator('.code.cmd').textContent()).toContain(`${t.app.url}/mcp/sse`)

  const client = await connected(secret)
  expect((await client.listTools()).tools).toHaveLength(tools.length)
  await ada.see(`Claude Code is connected, ${tools.length} tools`)
  await ada.see(/version 2\.1\.40, first call/)
  expect(clicks).toBeLessThanOrEqual(25)

  await ada.button('I stored it').click()
  await ada.page.locator('.secret.stored').waitFor()
  expect(await ada.page.content()).not.toContain(secret)
  expect(await ada.page.locator('.newtok').getByRole('button', { name: /^Copy/ }).count()).toBe(0)
  await ada.page.locator('.tokfoot').getByRole('button', { name: 'Next' }).click()
  await ada.page.getByLabel('Name of the project').fill('Lantern')
  await ada.button('Create project').click()
  await ada.page.getByRole('link', { name: 'Open the board' }).click()
  await ada.see('No tasks yet')
  const { items } = await call<{ items: Made[] }>(ada, 'GET', '/api/projects')
  const epics = [{ title: 'Storage', stories: [{ title: 'Blocks', tasks: [{ title: 'Write a block' }] }] }]
  const planned = await client.callTool({ name: 'create_plan', arguments: { project: items[0]?.key, epics } })
  expect(planned.isError ?? false).toBe(false)
  await ada.page.getByRole('link', { name: /Write a block/ }).waitFor()
  await client.close()
  await ada.leave()
}, 300_000)

test('leaving an unstored secret asks first, and a revoked token disappears', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await ada.goto('/tokens')
  await ada.see('No tokens yet')
  await ada.page.keyboard.press('c')
  await ada.page.getByRole('textbox', { name: 'Name' }).fill('build-1')
  await ada.page.locator('[name=program]').selectOption('codex')
  await ada.page.locator('[name=toolset]').selectOption('core')
  await ada.button('Create token').click()
  expect(await ada.page.locator('.code.cmd').textContent()).toContain('[mcp_servers.tutti]')
  await ada.page.getByRole('link', { name: 'Agents', exact: true }).click()
  await ada.see('Leave without the secret?')
  await ada.button('Stay').click()
  await ada.button('I stored it').click()
  await ada.button('Done').click()
  await ada.page.getByRole('row', { name: /build-1 .*Codex \(build-1\)/ }).waitFor()
  await ada.button('Actions for build-1').click()
  await ada.page.getByRole('menuitem', { name: 'Revoke' }).click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await ada.see('No tokens yet')
  await ada.leave()
}, 300_000)

test('a token and an API key are limited to the chosen projects, and their lists show the limit', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const project = await call<Made>(ada, 'POST', '/api/projects', { name: 'Lantern' })
  const limitTo = async (name: string) => {
    await ada.page.getByRole('textbox', { name: 'Name' }).fill(name)
    await ada.page.locator('[name=limit]').selectOption('some')
    await ada.page.getByRole('checkbox', { name: 'Lantern' }).check()
  }
  await ada.goto('/tokens')
  await ada.see('No tokens yet')
  await ada.page.keyboard.press('c')
  await limitTo('build-1')
  await ada.button('Create token').click()
  await ada.button('I stored it').click()
  await ada.button('Done').click()
  await ada.see('sees only Lantern')
  await ada.goto('/settings/keys')
  await limitTo('deploy')
  await ada.button('Create a key').click()
  await ada.button('I stored it').click()
  await ada.see('sees only Lantern')
  for (const path of ['/api/mcp-tokens', '/api/settings/api-keys'])
    expect((await call<{ items: { projects: string[] }[] }>(ada, 'GET', path)).items[0]?.projects).toEqual([project.id])
  await ada.leave()
}, 300_000)

thorough(
  'the pages of tokens and agents show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const agent = await call<Made>(ada, 'POST', '/api/agents', {
      name: evil,
      role: evil,
      persona: evil,
      systemPrompt: evil,
      model: evil.slice(0, 90),
    })
    await call(ada, 'POST', '/api/mcp-tokens', {
      name: evil,
      organizationId: boss.organizationId,
      agentId: agent.id,
    })
    await call(ada, 'POST', `/api/teams/${boss.organizationId}/invite`, { email: 'emil@example.com', role: 'member' })
    await inEachLook(ada, async () => {
      await expectSound(ada, '/tokens', 'main tbody tr')
      await expectSound(ada, '/agents', 'main .prow')
      await expectSound(ada, `/agents/${agent.slug}`, 'main .facts')
      await expectSound(ada, '/team', 'main .setrow')
      await expectSound(ada, '/welcome?step=token', 'main form')
    })
    await ada.leave()
  },
  300_000,
)

thorough(
  'a viewer sees no control of tokens and agents that the server would refuse',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const agent = await call<Made>(ada, 'POST', '/api/agents', { name: 'Reviewer' })
    const team = await teamOf(ada)
    await ada.goto(`/agents/${agent.slug}`)
    await ada.button('Archive').click()
    await ada.button('Unarchive').click()
    await ada.button('Archive').waitFor()
    const vera = await signedIn(t, viewer.email)
    await vera.goto(`/agents/${agent.slug}?team=${team}`)
    await vera.page.getByRole('heading', { name: 'Reviewer' }).waitFor()
    for (const name of ['Edit', 'Archive']) expect(await vera.button(name).count()).toBe(0)
    await ada.leave()
    await vera.leave()
  },
  300_000,
)
