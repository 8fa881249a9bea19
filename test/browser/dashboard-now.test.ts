import { expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { events } from '../../src/events/table.ts'
import type { Timeline } from '../../src/features/sessions/timeline-schema.ts'
import { tasks } from '../../src/features/tasks/table.ts'
import { type McpClient, ways } from '../mcp/support.ts'
import { mcpToken, member, type Person, person, sharedApp } from '../support/app.ts'
import {
  call,
  evil,
  expectSound,
  inEachLook,
  type Made,
  newProject,
  newTask,
  signedIn,
  teamOf,
  thorough,
} from './support.ts'

/** Who holds what, and replays of sessions, in a real browser. */
const t = await sharedApp()

const connect = async (who: Person): Promise<McpClient> =>
  (ways['v2 client, HTTP 2026-07-28'] as (typeof ways)[string])(t.url, await mcpToken(t, who))

/** The agent of a person works on a task, in a session with a checkpoint. */
async function works(who: Person, task: Made, goal: string): Promise<void> {
  const client = await connect(who)
  const use = async (tool: string, args: object) => {
    const { isError, content } = await client.call(tool, args as Record<string, unknown>)
    if (isError) throw new Error(content[0]?.text)
  }
  await use('create_session', { goals: [goal] })
  await use('claim_task', { task: task.key, minutes: 60 })
  await use('update_task', { task: task.key, comment: goal })
  await use('resume_session', { checkpoint: { nextStep: goal, openQuestions: [goal] } })
  await client.close()
}

/** As if its holder had changed nothing for 40 minutes, but called just now. */
async function fallSilent({ id }: Made): Promise<void> {
  const before = sql`now() - interval '40 minutes'`
  await t.app.db.update(tasks).set({ leaseSince: before }).where(eq(tasks.id, id))
  await t.app.db.update(events).set({ at: before }).where(eq(events.subjectId, id))
  const [held] = await t.app.db.select({ holder: tasks.leaseHolderId }).from(tasks).where(eq(tasks.id, id))
  if (held?.holder) await t.app.db.update(events).set({ at: before }).where(eq(events.actorId, held.holder))
}

test('an agent that claims a task and stalls is taken over, and its session can be replayed', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Read a book offline' })
  await newTask(ada, slug, { title: 'Fonts', blockedBy: [task.key] })
  await works(boss, task, 'Make a book open with no network')
  await fallSilent(task)
  await ada.goto('/now')
  const held = ada.page.getByRole('group', { name: 'At work now' }).getByRole('link', { name: new RegExp(task.key) })
  await held.getByText('stalled').waitFor()
  const lane = ada.page.getByRole('article').filter({ hasText: task.key })
  await lane.getByText('stalled', { exact: true }).waitFor()
  await lane.getByText('waits for it', { exact: false }).waitFor()
  await lane.getByRole('img', { name: /changes?, then none for 4\d minutes/ }).waitFor()
  // By keys alone: the first lane is the person, the second their agent.
  await ada.page.keyboard.press('j')
  await ada.page.keyboard.press('j')
  await ada.page.keyboard.press('t')
  await lane.getByText('you', { exact: true }).waitFor()
  const { lease } = await call<{ lease: { holder: { type: string } } }>(ada, 'GET', `/api/tasks/${task.key}`)
  expect(lease.holder.type).toBe('user')
  await lane.getByRole('button', { name: 'Release' }).click()
  await lane.waitFor({ state: 'detached' })

  await ada.goto('/sessions')
  await ada.page.getByRole('link', { name: /Make a book open with no network/ }).click()
  await ada.page.getByRole('heading', { name: 'Make a book open with no network', level: 1 }).waitFor()
  const id = new URL(ada.page.url()).pathname.split('/').at(-1)
  const replay = await call<Timeline>(ada, 'GET', `/api/sessions/${id}/timeline`)
  const rows = ada.page.locator('.rvl > li')
  await rows.first().waitFor()
  expect(await rows.locator('time').evaluateAll((all) => all.map((one) => one.getAttribute('datetime')))).toEqual(
    replay.events.map(({ at }) => at),
  )
  expect(await ada.page.locator('.scorestaff .hd').count()).toBe(replay.events.filter(({ line }) => line).length)
  const all = replay.events.length
  await ada.see(`change ${all} of ${all}`)
  await ada.page.keyboard.press('ArrowLeft')
  await ada.see(`change ${all - 1} of ${all}`)
  const claimed = replay.events.findIndex(({ type }) => type === 'task.claimed')
  await rows.nth(claimed).getByRole('button').click()
  await ada.see(`change ${claimed + 1} of ${all}`)
  await ada.page.getByRole('link', { name: 'Open the record' }).click()
  await ada.page.waitForURL(new RegExp(`/tasks/${task.key}`))
  await ada.leave()
}, 300_000)

thorough(
  'the Now and session pages show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: evil })
    await works(boss, task, evil)
    const { items } = await call<{ items: { id: string }[] }>(ada, 'GET', '/api/sessions')
    await inEachLook(ada, async () => {
      await expectSound(ada, '/now', 'main .lane')
      await expectSound(ada, '/sessions', 'main .prow')
      await expectSound(ada, `/sessions/${items[0]?.id}`, 'main .rv')
    })
    const vera = await signedIn(t, viewer.email)
    await vera.goto(`/now?team=${await teamOf(ada)}`)
    await vera.page.locator('main .lane').first().waitFor()
    for (const name of ['Take over', 'Release', 'Ask the agent'])
      expect(await vera.page.getByRole('button', { name }).count()).toBe(0)
    await vera.leave()
    await ada.leave()
  },
  300_000,
)
