import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/index.ts'
import type { Driver } from '../../src/db/driver.ts'
import { applyMigrations } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres/database.ts'
import { freshDatabase } from '../support/postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'tutti-earlier-'))
let drop: (() => Promise<void>) | undefined
let driver: Driver

beforeAll(async () => {
  const postgres = process.env.TEST_DB === 'postgres' ? await freshDatabase() : undefined
  drop = postgres?.drop
  const embedded = async () =>
    (await import('../../src/db/embedded/index.ts')).openEmbedded({ dir: folder, minFreeBytes: 0 })
  driver = postgres ? await openPostgres({ url: postgres.url, poolSize: 3 }) : await embedded()
  await driver.exec('drop schema public cascade; create schema public; create extension if not exists vector')
})
afterAll(async () => {
  await driver.close()
  await drop?.()
  rmSync(folder, { recursive: true, force: true })
})

const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const at = "'2026-01-01', '2026-01-01'"
const all = async (text: string) => (await driver.query(text, [])).rows

const token = (n: number, name: string, { agent = 'null', revoked = 'null' } = {}) =>
  `insert into mcp_tokens (id, created_at, updated_at, user_id, name, scopes, prefix, last4, hash, expires_at, organization_id, kind, toolsets, agent_id, revoked_at)
   values ('${id(n)}', ${at}, '${id(1)}', '${name}', '{write}', 'svc_live_', '${n}', 'h${n}', '2099-01-01', '${id(2)}', 'live', '{}', ${agent}, ${revoked});`
const task = (n: number, lease: string) =>
  `insert into tasks (id, created_at, updated_at, organization_id, project_id, number, title, status, priority, labels, acceptance, position,
     assignee_type, assignee_id, lease_type, lease_holder_id, lease_credential_id, lease_since, lease_seen_at, lease_expires_at)
   values ('${id(n)}', ${at}, '${id(2)}', '${id(3)}', ${n}, 'Task', 'in_progress', 'medium', '{}', '[]', ${n}, ${lease}, '2026-01-01', '2026-01-01', '2099-01-01');`

test('migrations give tokens of earlier versions, and their work, an agent', async () => {
  const before = migrations.findIndex((m) => m.id === '0025_workers')
  await applyMigrations(driver, migrations.slice(0, before))
  const user = `'user', '${id(1)}'`
  await driver.exec(`
    insert into users (id, created_at, updated_at, email, name, handle, preferences)
      values ('${id(1)}', ${at}, 'ada@example.com', 'Ada', 'ada', '{}');
    insert into organizations (id, created_at, updated_at, name, slug, settings)
      values ('${id(2)}', ${at}, 'Team', 'team', '{}');
    insert into projects (id, created_at, updated_at, organization_id, name, slug, key, visibility, settings)
      values ('${id(3)}', ${at}, '${id(2)}', 'P', 'p', 'P', 'team', '{}');
    insert into agents (id, created_at, updated_at, organization_id, name, slug, skills, memory_scope, scope)
      values ('${id(4)}', ${at}, '${id(2)}', 'Coder', 'coder-1', '[]', 'project', 'team');
    ${token(10, 'CI')} ${token(11, 'CI')} ${token(12, 'Claude Code on laptop')} ${token(13, 'tutti mcp on laptop')}
    ${token(14, 'Named', { agent: `'${id(4)}'` })} ${token(15, 'Old', { revoked: "'2026-01-02'" })}
    ${task(20, `${user}, ${user}, '${id(12)}'`)} ${task(21, `${user}, ${user}, null`)}
    ${task(22, `${user}, 'agent', '${id(4)}', '${id(14)}'`)}
    insert into sessions (id, created_at, updated_at, organization_id, user_id, status, goals, started_at, credential_id, seen_seq)
      values ('${id(30)}', ${at}, '${id(2)}', '${id(1)}', 'active', '{}', '2026-01-01', '${id(12)}', 0);`)

  await applyMigrations(driver, migrations)

  const tokens = await all(
    'select t.last4, a.name, a.client, a.for_id, a.scope from mcp_tokens t left join agents a on a.id = t.agent_id order by 1',
  )
  expect(tokens).toEqual([
    ['10', 'Agent (CI)', null, id(1), 'team'],
    ['11', 'Agent (CI)', null, id(1), 'team'],
    ['12', 'Claude Code (laptop)', 'Claude Code', id(1), 'team'],
    ['13', 'Agent (laptop)', null, id(1), 'team'],
    ['14', 'Coder', null, null, 'team'],
    ['15', null, null, null, null],
  ])
  // Both tokens named CI share one agent.
  expect(await all('select count(*)::int from agents')).toEqual([[4]])
  const leases = await all(
    `select t.number, t.lease_type, t.assignee_type, a.name, t.assignee_id = t.lease_holder_id, t.lease_for_id, t.lease_closed_at is not null
     from tasks t left join agents a on a.id = t.lease_holder_id order by 1`,
  )
  expect(leases).toEqual([
    [20, 'agent', 'agent', 'Claude Code (laptop)', true, id(1), true],
    [21, 'user', 'user', null, true, null, false],
    [22, 'agent', 'user', 'Coder', false, id(1), true],
  ])
  expect(await all('select a.name from sessions s join agents a on a.id = s.agent_id')).toEqual([
    ['Claude Code (laptop)'],
  ])
})

test('migrations mark invites of earlier versions with kept mail as passed on, which proves no mailbox', async () => {
  await applyMigrations(driver, migrations)
  const invite = (n: number, email: string) =>
    `insert into invites (id, created_at, updated_at, organization_id, email, role, hash, expires_at)
       values ('${id(n)}', ${at}, '${id(40)}', '${email}', 'member', 'i${n}', '2099-01-01');`
  const mail = (n: number, to: string, status: string, kind = `invite:${id(40)}`) =>
    `insert into mails (id, created_at, recipient, kind, subject, status, expires_at)
       values ('${id(n)}', '2026-01-01', '${to}', '${kind}', 's', '${status}', '2099-01-01');`
  await driver.exec(`
    insert into organizations (id, created_at, updated_at, name, slug, settings)
      values ('${id(40)}', ${at}, 'Other', 'other', '{}');
    ${invite(41, 'Kept@example.com')} ${mail(51, 'kept@example.com', 'kept')}
    ${invite(42, 'sent@example.com')} ${mail(52, 'sent@example.com', 'kept')} ${mail(53, 'sent@example.com', 'sent')}
    ${invite(43, 'other@example.com')} ${mail(54, 'other@example.com', 'kept', 'reset')}`)
  await driver.exec(migrations.find((m) => m.id === '0028_invites_kept')?.sql as string)
  expect(await all('select email, handed_over from invites order by id')).toEqual([
    ['Kept@example.com', true],
    ['sent@example.com', false],
    ['other@example.com', false],
  ])
})
