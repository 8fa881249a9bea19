import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { contextOf, write } from '../../src/action.ts'
import { system } from '../../src/auth/actor.ts'
import { machine } from '../../src/auth/policy.ts'
import type { BackupList, Checks, ConfigList, JobList } from '../../src/features/admin/operations-schema.ts'
import { queueMail } from '../../src/features/mail/service.ts'
import { mails } from '../../src/features/mail/table.ts'
import { type Person, person, type TestApp, testApp, unique } from '../support/app.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-backups-'))
let t: TestApp
let boss: Person
beforeAll(async () => {
  t = await testApp({
    SMTP_URL: 'smtp://user:hidden-password@127.0.0.1:9',
    MAIL_FROM: 'tutti@example.com',
    BACKUP_DIR: folder,
    background: 'off',
  })
  boss = await person(t, { admin: true })
})
afterAll(async () => {
  await t.close()
  rmSync(folder, { recursive: true, force: true })
})

const get = async <T>(path: string) => (await boss.fetch<T>('GET', `/api/admin/${path}`)).body

test('checks, jobs and settings are visible to administrators only, and contain no secret', async () => {
  const { items: checks } = await get<Checks>('doctor')
  expect(checks.length).toBeGreaterThan(3)
  const { said, times } = checks.find(({ what }) => what === 'clock') ?? {}
  expect(times).toEqual([{ text: said as string, at: said as string }])
  expect((await get<JobList>('jobs')).items).toBeArray()
  const { items } = await get<ConfigList>('config')
  const smtp = items.find(({ name }) => name === 'SMTP_URL')
  expect(smtp?.value).toContain('127.0.0.1')
  expect(JSON.stringify(items)).not.toContain('hidden-password')
  const ada = await person(t)
  for (const path of ['doctor', 'jobs', 'config', 'backups'])
    expect([path, (await ada.fetch('GET', `/api/admin/${path}`)).status]).toEqual([path, 403])
})

test('an administrator creates a backup and finds it in the list', async () => {
  expect(await get<BackupList>('backups')).toMatchObject({ folder, items: [] })
  const made = await boss.fetch<{ name: string }>('POST', '/api/admin/backups')
  expect(made.status).toBe(200)
  const { items } = await get<BackupList>('backups')
  expect(items.map(({ name }) => name)).toEqual([made.body.name])
  expect(items[0]?.bytes).toBeGreaterThan(1000)
  const { rows } = await t.app.driver.query(`select actor_id from events where action = 'admin.makeBackup'`)
  expect(rows.map(([who]) => who)).toContain(boss.userId)
})

const queue = write('test.queueMail', machine, async (ctx, { to }: { to: string }): Promise<void> => {
  await queueMail(ctx, {
    kind: 'notice',
    to,
    subject: 'Something happened',
    lines: ['Look.'],
    notes: [],
    expiresAt: new Date(Date.parse(ctx.now) + 3_600_000).toISOString(),
  })
})

test('only a mail that failed can be sent again', async () => {
  const to = `${unique('ada')}@example.com`
  await queue(contextOf(t.app, system), { to })
  const [mail] = await t.app.db.select().from(mails).where(eq(mails.recipient, to))
  const path = `/api/admin/outbox/${mail?.id}/resend`
  expect((await boss.fetch('POST', path)).status).toBe(409)
  await t.app.db.update(mails).set({ status: 'failed', error: 'refused' }).where(eq(mails.recipient, to))
  expect((await boss.fetch('POST', path)).body).toMatchObject({ id: mail?.id, status: 'queued' })
  const [again] = await t.app.db.select().from(mails).where(eq(mails.recipient, to))
  expect(again).toMatchObject({ status: 'queued', error: null })
  const ada = await person(t)
  expect((await ada.fetch('POST', path)).status).toBe(403)
})
