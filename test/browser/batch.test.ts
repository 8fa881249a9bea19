import { expect, test } from 'bun:test'
import { person, sharedApp } from '../support/app.ts'
import { axe } from './axe.ts'
import { call, newProject, signedIn } from './support.ts'

/** One change of many tasks, by keyboard: its progress, stopping it, and undoing it after a reload. */
const t = await sharedApp()

test('a change of 205 tasks shows its progress, stops on request, and Ctrl+Z undoes it after a reload', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { id, slug, key } = await newProject(ada)
  for (let from = 0; from < 205; from += 41)
    await call(ada, 'POST', `/api/projects/${slug}/tasks/batch`, {
      tasks: Array.from({ length: 41 }, (_, i) => ({ title: `Step ${from + i + 1}` })),
    })
  const counted = async (priority: string) =>
    (await call<{ total: number }>(ada, 'GET', `/api/tasks?projectId=${id}&priority=${priority}&limit=1&total=true`))
      .total
  await ada.goto(`/projects/${slug}/tasks?view=list&group=none&sort=number`)
  const rows = ada.page.getByRole('list', { name: 'Tasks' })
  await rows.hover()
  const first = rows.locator('[data-task]').filter({ hasText: new RegExp(`${key}-1S`) })
  while ((await first.count()) === 0) {
    await ada.page.mouse.wheel(0, 3000)
    await ada.page.evaluate('new Promise(requestAnimationFrame)')
  }
  await first.focus()
  await ada.page.keyboard.press('Control+a')
  await ada.page.getByRole('toolbar', { name: '205 selected' }).waitFor()
  // The second of three calls waits until the test has seen how far the change is.
  const held = Promise.withResolvers<void>()
  let calls = 0
  await ada.page.route('**/api/tasks/batch', async (route) => {
    if (++calls === 2) await held.promise
    await route.continue()
  })
  await ada.page.keyboard.press('p')
  await ada.page.keyboard.type('high')
  await ada.page.keyboard.press('Enter')
  await ada.see('Changing 205 tasks · 100 done')
  expect(await axe(ada.page)).toEqual([])
  await ada.button('Stop').press('Enter')
  held.resolve()
  await ada.see('200 of 205 tasks changed')
  await ada.page.getByText('Changing 205 tasks').waitFor({ state: 'detached' })
  expect([calls, await counted('high')]).toEqual([2, 200])

  await ada.page.reload()
  await rows.locator('[data-task]').first().waitFor()
  await ada.page.keyboard.press('Control+z')
  await ada.see('Undone: 200 tasks: priority High')
  expect(await counted('medium')).toBe(205)
  await ada.leave()
}, 300_000)
