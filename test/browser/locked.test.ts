import { describe, expect, test } from 'bun:test'
import type { TaskDetail } from '../../src/features/tasks/schema.ts'
import { member, person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { call, isLive, newProject, newTask, signedIn, teamOf } from './support.ts'

/** Controls that the reader may use, but not now. */
const t = await sharedApp()

describe('Claim and Complete of a blocked task', () => {
  test('are locked with the blocker, its holder and ways out, on the page and in the panel', async () => {
    const ada = await signedIn(t, (await person(t, { name: 'Ada Lovelace' })).email)
    const { slug } = await newProject(ada)
    const blocker = await newTask(ada, slug, { title: 'Resume a download' })
    const blocked = await newTask(ada, slug, { title: 'Read offline', blockedBy: [blocker.key] })
    await call(ada, 'POST', `/api/tasks/${blocker.key}/claim`, {})
    const asked: string[] = []
    ada.page.on('request', (request) => asked.push(new URL(request.url()).pathname))

    for (const path of [`/projects/${slug}/tasks?open=${blocked.key}`, `/tasks/${blocked.key}`]) {
      await ada.goto(path)
      await ada.see(/^Resume a download, held by Ada Lovelace for (a few seconds|\d+ \w+)\.$/)
      for (const name of ['Claim', 'Complete']) {
        const button = ada.button(name)
        await button.focus()
        expect(await button.getAttribute('aria-disabled')).toBe('true')
        const reason = await button.getAttribute('aria-describedby')
        expect(await ada.page.locator(`[id="${reason}"]`).textContent()).toContain(`Waits for ${blocker.key}`)
        await button.press('Enter')
      }
      await ada.page.getByRole('link', { name: `Open ${blocker.key}` }).waitFor()
    }
    // The task itself says who holds its blockers.
    expect(asked).not.toContain(`/api/tasks/${blocker.key}`)
    await ada.page.setViewportSize({ width: 390, height: 844 })
    await ada.page.emulateMedia({ colorScheme: 'dark' })
    expect(await axe(ada.page)).toEqual([])
    await ada.button('Remove the dependency').click()
    await ada.page.getByRole('button', { name: 'Claim', exact: true, disabled: false }).waitFor()
    const { status, waitsFor } = await call<TaskDetail>(ada, 'GET', `/api/tasks/${blocked.key}`)
    expect({ status, waitsFor }).toEqual({ status: 'todo', waitsFor: [] })
    await ada.leave()
  }, 300_000)

  test('are absent for a viewer', async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer')
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const { key } = await newTask(ada, slug, { title: 'Read offline' })
    const team = await teamOf(ada)
    await ada.context.close()
    const ben = await signedIn(t, viewer.email)
    await ben.goto(`/tasks/${key}?team=${team}`)
    await ben.page.getByRole('heading', { name: 'Read offline' }).waitFor()
    expect(await ben.page.getByRole('button', { name: /^(Claim|Complete)$/ }).count()).toBe(0)
    await ben.leave()
  }, 300_000)
})

test('Claim and Complete are locked without a connection, and work again when it is back', async () => {
  const ada = await signedIn(t, (await person(t)).email)
  const { slug } = await newProject(ada)
  const { key } = await newTask(ada, slug, { title: 'Read offline' })
  await ada.goto(`/tasks/${key}`)
  await ada.button('Complete').waitFor()
  await isLive(ada)
  await ada.context.setOffline(true)
  // The browser may send this event before it cuts the network, so the test sends it again.
  await ada.page.evaluate("dispatchEvent(new Event('offline'))")
  await ada.see('You are offline. This needs a connection.')
  expect(await ada.button('Complete').getAttribute('aria-disabled')).toBe('true')
  await ada.context.setOffline(false)
  await ada.page.getByText('This needs a connection.').waitFor({ state: 'detached' })
  await ada.button('Complete').click()
  await ada.see(`${key} completed`)
  ada.trouble.splice(0, ada.trouble.length, ...ada.trouble.filter((one) => !/ERR_|fetching the script/.test(one)))
  await ada.leave()
}, 300_000)
