import { expect, test } from 'bun:test'
import { markMissing } from '../../src/features/workflow/reopening.ts'
import { member, person, sharedApp, systemCtx } from '../support/app.ts'
import {
  call,
  evil,
  expectSound,
  inEachLook,
  newProject,
  newTask,
  signedIn,
  teamOf,
  thorough,
  type Visitor,
} from './support.ts'

/** Features with their gates, decisions, specs and skills in a real browser. */
const t = await sharedApp()

interface Made {
  id: string
  slug: string
}
const newFeature = (who: Visitor, slug: string, feature: object) =>
  call<Made>(who, 'POST', `/api/projects/${slug}/features`, feature)
const advance = (who: Visitor, id: string, evidence?: object) =>
  call(who, 'POST', `/api/features/${id}/advance`, evidence ? { evidence } : {})
const dialog = (who: Visitor) => who.page.getByRole('dialog')
const measure = (who: Visitor, name: string) => who.page.getByRole('region', { name, exact: true })

test('a feature passes every gate, is reviewed, sent back and overridden', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  await ada.goto(`/projects/${slug}/features`)
  await ada.see('No features yet')
  await ada.page.keyboard.press('c')
  await dialog(ada).getByLabel('Title').fill('Offline reading')
  await dialog(ada).getByRole('button', { name: 'Create feature' }).click()
  await ada.page.getByRole('heading', { name: 'Offline reading', level: 1 }).waitFor()
  await ada.button('Advance to In progress').click()

  // The next gate says what it lacks, and the call by which an agent would supply it.
  await ada.see('What changed')
  await ada.see(/advance_feature feature: ".+"\s+evidence: \{ summary: "…", files: \["…"\] \}/)
  const locked = ada.button('Advance to In testing')
  expect(await locked.getAttribute('aria-disabled')).toBe('true')
  expect(await locked.getAttribute('title')).toMatch(/^Missing: what changed.*; at least one file path/i)
  await ada.button('Add evidence').first().click()
  await dialog(ada).getByLabel('What changed, or the result').fill('Pages come from the store')
  // The gate asks for more than words: the refusal says so, and what was written stays.
  await dialog(ada).getByRole('button', { name: 'Advance to In testing' }).click()
  await dialog(ada).getByText('At least one file path, commit or pull request', { exact: false }).first().waitFor()
  await dialog(ada).getByLabel('Commits').fill('b7e4019')
  await dialog(ada).getByRole('button', { name: 'Advance to In testing' }).click()
  await dialog(ada).waitFor({ state: 'detached' })
  await measure(ada, 'In progress').getByText('reported').waitFor()
  await measure(ada, 'In progress').getByRole('button', { name: 'Verify: Pages come from the store' }).click()
  await measure(ada, 'In progress').getByText('verified').waitFor()

  // Two gates more, one with evidence that its author has checked.
  await ada.page.keyboard.press('e')
  await dialog(ada).getByLabel('What changed, or the result').fill('209 of 209 pass')
  await dialog(ada).getByLabel('Test command').fill('bun test')
  await dialog(ada).getByLabel('Tests passed').fill('209')
  await dialog(ada).getByLabel('I checked it myself').check()
  await dialog(ada).getByRole('button', { name: 'Advance to In docs' }).click()
  await measure(ada, 'In testing').getByText('verified').waitFor()
  await ada.button('Add evidence').first().click()
  await dialog(ada).getByLabel('What changed, or the result').fill('A guide')
  await dialog(ada).getByLabel('Files').fill('docs/offline.md')
  await dialog(ada).getByRole('button', { name: 'Advance to In review' }).click()

  // Alone in the team, the author may review; an agent would need somebody else.
  await ada.page.getByLabel('Comment').fill('Say how large the store is')
  await ada.button('Request changes').click()
  await measure(ada, 'Needs edits').getByText('now').waitFor()
  await ada.see('changes requested')
  await ada.button('Override…').click()
  await dialog(ada).getByLabel('Move to').selectOption('in_review')
  await dialog(ada).getByLabel('Reason').fill('Only words changed')
  await dialog(ada).getByRole('button', { name: 'Override the gates' }).click()
  await ada.button('Approve').click()
  await measure(ada, 'Done').getByText('now').waitFor()
  expect(await ada.page.getByRole('button', { name: /^Advance/ }).count()).toBe(0)
  await ada.goto(`/projects/${slug}/features`)
  await ada.page
    .getByRole('region', { name: 'Done, 1 feature' })
    .getByRole('link', { name: 'Offline reading' })
    .waitFor()
  const refused = ada.refused.map((line) => line.replace(/features\/[^/]+/, 'features/:id'))
  expect(refused).toEqual(['POST /api/features/:id/advance 409'])
  await ada.leave(...ada.refused)
}, 900_000)

test('a feature with an open task and a missing commit shows both, and only an override closes it', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const task = await newTask(ada, slug, { title: 'Write the guide' })
  const { id } = await newFeature(ada, slug, { title: 'Offline reading', kind: 'bug', taskIds: [task.key] })
  await advance(ada, id)
  const code = { summary: 'Pages come from the store', commits: ['abcdef1'] }
  await advance(ada, id, code)
  const { evidence } = await call<{ evidence: { id: string }[] }>(ada, 'GET', `/api/features/${id}`)
  const missing = [{ item: 'abcdef1', reason: 'not_found' as const }]
  await markMissing(systemCtx(t), { evidenceId: evidence[0]?.id as string, missing })
  await ada.goto(`/features/${id}`)
  await measure(ada, 'In progress').getByText('missing', { exact: true }).waitFor()
  await ada.see('abcdef1 was not found at the code host. Push it, then submit the evidence again.')
  await inEachLook(ada, () => expectSound(ada, `/features/${id}`, '.lv.missing'))
  await advance(ada, id, code)
  await advance(ada, id, { summary: 'All pass', tests: { command: 'bun test', passed: 3, failed: 0 } })
  const approve = ada.page.getByRole('button', { name: 'Approve' })
  await approve.waitFor()
  expect(await approve.getAttribute('aria-disabled')).toBe('true')
  await ada.see('Its tasks must be done or cancelled before it can be approved.')
  await ada.see('Complete or cancel the task')
  await ada.page.getByRole('link', { name: `Open ${task.key}` }).waitFor()
  expect(await ada.button('Advance to Done').getAttribute('aria-disabled')).toBe('true')
  await ada.button('Override…').click()
  await dialog(ada).getByLabel('Move to').selectOption('done')
  await dialog(ada).getByLabel('Reason').fill('The guide follows in the next release')
  await dialog(ada).getByRole('button', { name: 'Override the gates' }).click()
  await measure(ada, 'Done').getByText('now').waitFor()
  await ada.see('The guide follows in the next release')
  await ada.leave(...ada.refused)
}, 900_000)

test('two people who edit a spec at once see both texts and lose neither', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  const { slug } = await newProject(ada)
  const content = '# Block store\n\nBlocks have one size.\n\nThe last is shorter.'
  const spec = await call<Made>(ada, 'POST', '/api/specs', { title: 'Block store', content, projectId: slug })
  await ada.goto(`/specs/${spec.id}`)
  await ada.button('Edit').click()
  const field = ada.page.getByRole('textbox', { name: 'Content' })
  await field.fill(content.replace('one size', '256 KB'))
  const theirs = { content: content.replace('shorter', 'padded'), baseVersion: 1 }
  await call(ada, 'PATCH', `/api/specs/${spec.id}`, theirs)
  await ada.button('Save as a new version').click()
  const conflict = ada.page.getByRole('alert', { name: 'Someone else saved a newer version' })
  await conflict.getByText('Version 2, theirs').waitFor()
  await conflict.locator('td.m', { hasText: 'padded' }).waitFor()
  await conflict.locator('td.p', { hasText: '256 KB' }).waitFor()
  await ada.button('Merge and edit').click()
  await field.waitFor()
  expect(await field.inputValue()).toBe(content.replace('one size', '256 KB').replace('shorter', 'padded'))
  await ada.button('Save as a new version').click()
  await ada.page.getByRole('link', { name: 'What changed from version 2 to version 3' }).click()
  await ada.page.waitForURL(/from=2&to=3/)
  await ada.page.locator('.sdiff td.p', { hasText: '256 KB' }).locator('ins').first().waitFor()
  await ada.goto(`/specs/${spec.id}?to=1`)
  await ada.button('Restore version 1 as a new one').click()
  await ada.page.getByRole('link', { name: 'Version 4', exact: true }).waitFor()
  expect((await call<{ content: string }>(ada, 'GET', `/api/specs/${spec.id}`)).content).toBe(content)
  await ada.leave(`PATCH /api/specs/${spec.id} 412`)
}, 900_000)

test('a decision is proposed, discussed, accepted, given an outcome and superseded; a skill is shared', async () => {
  const boss = await person(t)
  const ada = await signedIn(t, boss.email)
  await newProject(ada)
  await ada.goto('/decisions')
  await ada.button('Log a decision').first().click()
  await dialog(ada).getByLabel('Title').fill('Lock the folder')
  await dialog(ada).getByLabel('What was decided').fill('We hold **flock** while the server runs.')
  await dialog(ada).getByLabel('Alternatives, one per line').fill('A lock file\nNothing')
  await dialog(ada).getByLabel('Save as a proposal').check()
  await dialog(ada).getByRole('button', { name: 'Log the decision' }).click()
  await ada.page.locator('strong', { hasText: 'flock' }).waitFor()
  await ada.page.getByLabel('Write a comment').fill('And on NFS?')
  await ada.page.keyboard.press('Control+Enter')
  await ada.page.locator('.msg', { hasText: 'And on NFS?' }).waitFor()
  await ada.button('Accept').click()
  await ada.button('Set the outcome').click()
  await ada.page.getByLabel('Outcome').fill('No damage since.')
  await ada.page.keyboard.press('Control+Enter')
  await ada.see('No damage since.')
  await ada.button('Supersede…').click()
  await dialog(ada).getByLabel('Title').fill('Fence by the kernel')
  await dialog(ada).getByLabel('What was decided').fill('The kernel tells us.')
  await dialog(ada).getByRole('button', { name: 'Log the decision' }).click()
  await ada.page.getByRole('heading', { name: 'Fence by the kernel', level: 1 }).waitFor()
  await ada.page.getByRole('link', { name: /Replaces Lock the folder Superseded/ }).click()
  await ada.page.getByRole('link', { name: /Replaced by Fence by the kernel Accepted/ }).waitFor()
  expect(await ada.page.getByRole('button', { name: 'Supersede…' }).count()).toBe(0)
  await ada.goto('/decisions?status=superseded')
  await ada.page.getByRole('link', { name: /Lock the folder/ }).waitFor()
  expect(await ada.page.getByRole('link', { name: /Fence by the kernel/ }).count()).toBe(0)

  const skill = await call<Made>(ada, 'POST', '/api/skills', { name: 'Review a migration', content: 'Is it additive?' })
  await call(ada, 'POST', '/api/agents', { name: 'Reviewer', skills: [skill.id] })
  await ada.goto(`/skills/${skill.slug}`)
  await ada.page.getByRole('link', { name: /Reviewer/ }).waitFor()
  await ada.page.getByRole('button', { name: 'Available to: Team' }).click()
  await ada.page.getByRole('menuitem', { name: 'Everyone' }).click()
  await ada.page.getByRole('button', { name: 'Available to: Everyone' }).waitFor()
  await ada.button('Delete').click()
  await ada.page.waitForURL(/\/skills$/)
  await ada.button('Undo').click()
  await ada.page.getByRole('link', { name: /Review a migration/ }).waitFor()
  // The page may hear of the deletion, and look, before it has left.
  await ada.leave(...ada.refused.filter((line) => line === `GET /api/skills/${skill.slug} 404`))
}, 900_000)

thorough(
  'the pages of features, decisions, specs and skills show stored markup as text and pass axe',
  async () => {
    const boss = await person(t)
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const task = await newTask(ada, slug, { title: evil })
    const spec = await call<Made>(ada, 'POST', '/api/specs', {
      title: evil,
      content: evil,
      message: evil,
      projectId: slug,
    })
    await call(ada, 'PATCH', `/api/specs/${spec.id}`, { content: `${evil}\n\n${evil} more`, baseVersion: 1 })
    const first = await newFeature(ada, slug, { title: evil })
    const { id } = await newFeature(ada, slug, {
      title: evil,
      description: evil,
      taskIds: [task.key],
      specId: spec.id,
      assignee: 'me',
    })
    await advance(ada, id)
    const shown = { summary: evil, files: [evil], links: [`https://example.com/${encodeURIComponent(evil)}`] }
    await advance(ada, id, shown)
    await call(ada, 'PATCH', `/api/features/${id}`, { blockedBy: [first.id] })
    const decision = { title: evil, decision: evil, rationale: evil, context: evil, projectId: slug }
    const old = await call<Made>(ada, 'POST', '/api/decisions', {
      ...decision,
      alternatives: [{ option: evil, pros: evil, cons: evil }],
      tags: [evil.slice(0, 50)],
    })
    await call(ada, 'POST', `/api/decisions/${old.id}/comments`, { body: evil })
    await call(ada, 'PATCH', `/api/decisions/${old.id}`, { outcome: evil })
    await call(ada, 'POST', '/api/decisions', { ...decision, supersedes: old.id })
    const skill = await call<Made>(ada, 'POST', '/api/skills', {
      name: evil.slice(0, 100),
      description: evil,
      content: evil,
      tags: [evil.slice(0, 50)],
    })
    await inEachLook(ada, async () => {
      for (const [path, there] of [
        [`/projects/${slug}/features`, '.tcard'],
        [`/projects/${slug}/features?status=todo`, '.recrow'],
        [`/features/${id}`, '.evitems'],
        ['/decisions', '.recrow'],
        [`/decisions/${old.id}`, '.msg'],
        ['/specs', '.recrow'],
        [`/specs/${spec.id}`, '.vers:has(li:nth-child(2)) summary'],
        [`/specs/${spec.id}?from=1&to=2`, '.sdiff'],
        ['/skills', '.recrow'],
        [`/skills/${skill.id}`, '.callof'],
      ] as const)
        await expectSound(ada, path, `main ${there}`)
    })
    await ada.leave()
  },
  900_000,
)

thorough(
  'a viewer can read features, decisions, specs and skills, and sees no control that the server would refuse',
  async () => {
    const boss = await person(t)
    const viewer = await member(t, boss, 'viewer', 'Vera')
    const ada = await signedIn(t, boss.email)
    const { slug } = await newProject(ada)
    const { id } = await newFeature(ada, slug, { title: 'Read only' })
    await advance(ada, id)
    await advance(ada, id, { summary: 'Pages come from the store', files: ['src/store.ts'] })
    const decision = { title: 'Read only', decision: 'Nothing changes.', status: 'proposed', projectId: slug }
    const made = await call<Made>(ada, 'POST', '/api/decisions', decision)
    const spec = await call<Made>(ada, 'POST', '/api/specs', { title: 'Read only', content: 'Text', projectId: slug })
    const skill = await call<Made>(ada, 'POST', '/api/skills', { name: 'Read only', content: 'Text' })
    const team = await teamOf(ada)
    await ada.context.close()
    const vera = await signedIn(t, viewer.email)
    for (const [path, there] of [
      [`/projects/${slug}/features`, '.tcard'],
      [`/features/${id}`, '.evitems'],
      ['/decisions', '.recrow'],
      [`/decisions/${made.id}`, '.md'],
      ['/specs', '.recrow'],
      [`/specs/${spec.id}`, '.vers'],
      ['/skills', '.recrow'],
      [`/skills/${skill.id}`, '.callof'],
    ] as const) {
      await vera.goto(`${path}?team=${team}`)
      await vera.page.locator(`main ${there}`).first().waitFor()
      const controls = vera.page.locator('main').getByRole('button', {
        name: /^(New|Log|Advance|Override|Verify|More|Add|Edit|Accept|Set|Sup|Delete|Send|Available to:|Status:)/,
      })
      expect({ path, controls: await controls.allTextContents() }).toEqual({ path, controls: [] })
      expect(await vera.page.locator('main textarea').count()).toBe(0)
    }
    await vera.leave()
  },
  900_000,
)
