import { beforeAll, describe, expect, test } from 'bun:test'
import type { Issue, IssuePage, ReportedIssue, ReportedIssuePage } from '../../src/features/issues/schema.ts'
import type { NotificationPage } from '../../src/features/notifications/schema.ts'
import { type Person, person, sharedApp, type TestApp, unique } from '../support/app.ts'
import { expectEvent, expectEvents, expectRefusal, ids, statuses, times, watch } from './support.ts'

let t: TestApp
let admin: Person
let ada: Person
let grace: Person
beforeAll(async () => {
  t = watch(await sharedApp())
  ;[admin, ada, grace] = (await Promise.all([
    person(t, { admin: true, name: 'Barbara Liskov' }),
    person(t),
    person(t, { name: 'Grace Hopper' }),
  ])) as [Person, Person, Person]
})

const report = async (who: Person, more: object = {}): Promise<Issue> => {
  const { status, body } = await who.fetch<Issue>('POST', '/api/issues', {
    title: unique('broken'),
    description: 'It is broken.',
    ...more,
  })
  expect(status).toBe(201)
  return body
}
const patch = (issue: { id: string }, body: object, headers: Record<string, string> = {}, who = admin) =>
  who.fetch<ReportedIssue>('PATCH', `/api/admin/issues/${issue.id}`, body, headers)
const toldTo = async (who: Person) =>
  (await who.fetch<NotificationPage>('GET', '/api/notifications')).body.items.filter((n) => n.reason === 'issue')

describe('a report', () => {
  test('is created by a user, who sees only their own', async () => {
    const made = await ada.fetch<Issue>('POST', '/api/issues', {
      title: '  Search is slow ',
      description: 'Very.',
      priority: 'high',
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/issues/${made.body.id}`)
    expect(made.body).toMatchObject({
      title: 'Search is slow',
      description: 'Very.',
      priority: 'high',
      status: 'open',
      answer: null,
      answeredAt: null,
      version: 1,
    })
    expect(await expectEvent(t, made, 'issue.created')).toMatchObject({
      userId: ada.userId,
      data: { title: 'Search is slow', priority: 'high' },
    })
    expect(ids((await ada.fetch<IssuePage>('GET', '/api/issues')).body)).toContain(made.body.id)
    expect(ids((await grace.fetch<IssuePage>('GET', '/api/issues')).body)).not.toContain(made.body.id)
    expect(ids((await admin.fetch<IssuePage>('GET', '/api/issues')).body)).not.toContain(made.body.id)
  })

  test('has medium priority by default, and is listed by status, page by page', async () => {
    const who = await person(t)
    const made: Issue[] = []
    for (const _ of times(3, (i) => i)) made.push(await report(who))
    expect(made[0]?.priority).toBe('medium')
    await patch(made[1] as Issue, { status: 'closed' })
    const list = async (query: string) => (await who.fetch<IssuePage>('GET', `/api/issues${query}`)).body
    expect((await list('?status=open&total=true')).total).toBe(2)
    expect(ids(await list('?status=closed'))).toEqual([(made[1] as Issue).id])
    const first = await list('?limit=2')
    expect(first.items.map((i) => i.id)).toEqual([made[2]?.id, made[1]?.id] as string[])
    expect((await list(`?limit=2&cursor=${first.nextCursor}`)).items.map((i) => i.id)).toEqual([
      made[0]?.id,
    ] as string[])
  })

  test('needs a title and a description with text', async () => {
    for (const body of [
      { title: ' ', description: 'x' },
      { title: 'x', description: ' ' },
      { title: 'x', description: 'x', status: 'closed' },
    ])
      expect((await ada.fetch('POST', '/api/issues', body)).status).toBe(422)
  })
})

describe('an administrator', () => {
  test('sees all reports with their reporters, and filters them', async () => {
    const low = await report(ada, { priority: 'low' })
    const critical = await report(grace, { priority: 'critical' })
    const list = async (query: string) =>
      (await admin.fetch<ReportedIssuePage>('GET', `/api/admin/issues${query}`)).body
    const [newest] = (await list('?limit=1')).items
    expect(newest).toEqual({
      ...critical,
      answeredById: null,
      reporter: { id: grace.userId, name: 'Grace Hopper', handle: expect.any(String), email: grace.email },
    })
    expect(ids(await list('?priority=low&status=open'))).toContain(low.id)
    expect(ids(await list('?priority=low'))).not.toContain(critical.id)
    expect(ids(await list('?status=closed'))).not.toContain(critical.id)
  })

  test('answers a report, and the reporter is notified', async () => {
    const issue = await report(ada)
    const answered = await patch(issue, { status: 'in_review', priority: 'high', answer: 'We are on it.' })
    expect(answered.body).toMatchObject({
      status: 'in_review',
      priority: 'high',
      answer: 'We are on it.',
      answeredById: admin.userId,
      answeredAt: expect.any(String),
      version: 2,
    })
    const [updated] = await expectEvents(t, answered, 'issue.updated', 'notification.created')
    expect(updated).toMatchObject({
      userId: ada.userId,
      data: { fields: ['status', 'priority', 'answer'], status: 'in_review' },
    })
    expect((await toldTo(ada))[0]).toMatchObject({
      title: `Your report was answered: ${issue.title}`,
      message: 'We are on it.',
      type: 'info',
    })
  })

  test('gives a long answer, of which the notice contains the beginning', async () => {
    const issue = await report(ada, { title: 'x'.repeat(200) })
    expect((await patch(issue, { answer: 'y'.repeat(20_000) })).status).toBe(200)
    const [told] = await toldTo(ada)
    expect([told?.title.length, told?.message?.length]).toEqual([200, 2000])
  })

  test('closes a report, and the reporter is notified once', async () => {
    const issue = await report(grace)
    await expectEvents(t, await patch(issue, { status: 'closed' }), 'issue.updated', 'notification.created')
    expect((await toldTo(grace))[0]).toMatchObject({
      title: `Your report was closed: ${issue.title}`,
      type: 'success',
      message: null,
    })
    await expectEvents(t, await patch(issue, { status: 'closed', priority: 'low' }), 'issue.updated')
  })

  test('sets the priority without a notice, and can remove an answer', async () => {
    const issue = await report(ada)
    await expectEvents(t, await patch(issue, { priority: 'low' }), 'issue.updated')
    await patch(issue, { answer: 'Wrong answer' })
    const cleared = await patch(issue, { answer: null })
    await expectEvents(t, cleared, 'issue.updated')
    expect(cleared.body).toMatchObject({ answer: null, answeredAt: null, answeredById: null })
  })

  test('cannot overwrite the change of another administrator', async () => {
    const issue = await report(ada)
    const both = await Promise.all(['first', 'second'].map((answer) => patch(issue, { answer }, { 'if-match': '"1"' })))
    expect(statuses(both)).toEqual([200, 412])
    const lost = both.find((a) => a.status === 412)?.body as unknown as { current: ReportedIssue }
    expect(lost.current).toMatchObject({ id: issue.id, version: 2 })
  })

  test('is the only one who lists and changes reports', async () => {
    const issue = await report(ada)
    await expectRefusal(t, await ada.fetch('GET', '/api/admin/issues'), 403, 'forbidden')
    await expectRefusal(t, await patch(issue, { status: 'closed' }, {}, ada), 403, 'forbidden')
    await expectRefusal(
      t,
      await patch({ id: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }, { status: 'closed' }),
      404,
      'not_found',
    )
  })
})
