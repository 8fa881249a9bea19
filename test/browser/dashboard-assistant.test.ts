import { afterAll, expect, test } from 'bun:test'
import type { AiSession } from '../../src/features/assistant/schema.ts'
import type { Tree } from '../../src/features/planning/schema.ts'
import { catchUp } from '../../src/features/search/indexing/indexing.ts'
import { member, person, systemCtx, testApp } from '../support/app.ts'
import { ChatServer } from '../support/chat-server.ts'
import { call, evil, expectSound, inEachLook, newProject, signedIn, teamOf } from './support.ts'

/** The page of the assistant in a real browser, with a chat server that says what each test wants. */
const chat = new ChatServer()
const t = await testApp({ CHAT_URL: chat.url, CHAT_MODEL: 'talker' })
afterAll(async () => {
  await t.close()
  await chat.close()
})

const tasks = [{ title: `Lock it ${evil}`, description: evil }, { title: 'Say so' }]

test('the assistant answers a question, stops and continues, and its proposal is edited and accepted', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada, 'Engine')
  await call(ada, 'POST', '/api/notes', {
    title: `Folder ${evil}`,
    content: `The folder is locked. ${evil}`,
    scope: 'team',
  })
  while ((await catchUp(systemCtx(t), {})) !== 'done');
  const ask = async (question: string) => {
    await ada.page.getByLabel('Your question').fill(question)
    await ada.button('Ask').click()
  }
  await ada.goto('/assistant')
  await ada.see('Ask about your work')
  chat.script(ChatServer.says('The folder is ', `locked ${evil} [1].`))
  await ask('Which folder?')
  await ada.see('The folder is locked')
  const source = ada.page.getByRole('list', { name: 'Sources' }).getByRole('link').first()
  expect(await source.getAttribute('href')).toMatch(/^\/notes\//)
  chat.script(ChatServer.saysAndWaits('It takes '))
  await ask('How long?')
  await ada.see('It takes')
  await ada.button('Stop').click()
  await ada.page.locator('.flag', { hasText: 'stopped' }).waitFor()
  chat.script(ChatServer.calls(['propose_tasks', { tasks }]), ChatServer.says('I propose two tasks.'))
  await ask('Propose tasks')
  const card = ada.page.getByRole('region', { name: 'Proposes 2 tasks' })
  await card.waitFor()
  expect(await ada.button('Accept').isDisabled()).toBe(true)
  await card.getByRole('button', { name: 'Edit', exact: true }).click()
  await card.getByLabel('Title').first().fill('Lock the folder')
  await card.getByRole('button', { name: 'Leave out Say so' }).click()
  await card.getByLabel('In which project').selectOption({ label: 'Engine' })
  await ada.button('Accept').click()
  await ada.page.getByRole('link', { name: 'Lock the folder' }).click()
  await ada.page.getByRole('heading', { name: 'Lock the folder' }).first().waitFor()
  const { items } = await call<{ items: { title: string }[] }>(ada, 'GET', `/api/tasks?projectId=${slug}`)
  expect(items.map(({ title }) => title)).toEqual(['Lock the folder'])
  // A plan is edited down to its tasks; those that waited for one that is left out no longer do.
  await ada.goto('/assistant')
  const stories = [
    {
      title: 'Locking',
      tasks: [
        { ref: 'a', title: 'Draft it' },
        { title: 'Write it', blockedBy: ['a'] },
      ],
    },
  ]
  chat.script(
    ChatServer.calls(['propose_plan', { epics: [{ title: 'Folders', stories }] }]),
    ChatServer.says('A plan.'),
  )
  await ask('Propose a plan for the folder')
  const plan = ada.page.getByRole('region', { name: 'Proposes a plan' })
  await plan.getByText('after Draft it').waitFor()
  await plan.getByRole('button', { name: 'Edit', exact: true }).click()
  await plan.getByLabel('Title of the story').fill('Locks')
  await plan.getByLabel('Title of the task').last().fill('Write the lock')
  await plan.getByRole('button', { name: 'Leave out Draft it' }).click()
  await plan.getByLabel('In which project').selectOption({ label: 'Engine' })
  await plan.getByRole('button', { name: 'Accept' }).click()
  await plan.getByRole('link', { name: 'Folders' }).waitFor()
  const { epics } = await call<Tree>(ada, 'GET', `/api/projects/${slug}/tree`)
  expect(
    epics[0]?.stories.map(({ title, tasks }) => [title, tasks.map((task) => [task.title, task.blockedBy])]),
  ).toEqual([['Locks', [['Write the lock', []]]]])
  const [session] = (await call<{ items: AiSession[] }>(ada, 'GET', '/api/ai/sessions')).items
  await inEachLook(ada, async () => {
    await expectSound(ada, `/assistant/${session?.id}`, '.msg')
    await expectSound(ada, '/assistant?new=1', '.editor')
  })
  await ada.goto(`/assistant/${session?.id}`)
  await ada.button('Rename').click()
  await ada.page.getByLabel('Title').fill('Locks')
  await ada.page.keyboard.press('Enter')
  await ada.page.getByRole('link', { name: /^Locks/ }).waitFor()
  await ada.button('Delete').click()
  await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await ada.page.getByRole('link', { name: /^Locks/ }).waitFor({ state: 'detached' })
  await ada.leave()
}, 300_000)

test('a viewer cannot accept a proposal, and a failing chat model still leaves the sources', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const project = await newProject(ada, 'Engine')
  await call(ada, 'POST', '/api/notes', { title: 'Folder', content: 'A folder.', projectId: project.id, scope: 'team' })
  while ((await catchUp(systemCtx(t), {})) !== 'done');
  const guest = await member(t, boss, 'viewer', 'Vera')
  const vera = await signedIn(t, guest.email)
  chat.script(ChatServer.calls(['propose_tasks', { tasks }]), ChatServer.says('I propose two tasks.'))
  await vera.goto(`/assistant?team=${await teamOf(ada)}&projectId=${project.id}`)
  await vera.page.getByLabel('Your question').fill('Propose tasks for the folder')
  await vera.button('Ask').click()
  await vera.page.getByRole('region', { name: 'Proposes 2 tasks' }).waitFor()
  await vera.button('Decline').waitFor()
  expect(await vera.button('Accept').count()).toBe(0)
  chat.script(() => new Response('no', { status: 503 }))
  await vera.page.getByLabel('Your question').fill('And the folder?')
  await vera.button('Ask').click()
  await vera.see('The chat model did not answer')
  expect(await vera.page.getByRole('list', { name: 'Sources' }).last().getByRole('link').count()).toBeGreaterThan(0)
  await ada.context.close()
  await vera.leave()
}, 300_000)
