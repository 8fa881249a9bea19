import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { events, features, records } from '../../src/all-features.ts'
import { defineEvent, EventCatalogue, type EventType, withHandLoggedType } from '../../src/events/catalogue.ts'
import { isDeletion } from '../../src/events/table.ts'

const catalogue = new EventCatalogue(events)
const root = join(import.meta.dir, '../..')

describe('the event catalogue', () => {
  test('has every event that a feature defines, and every feature lists its events', async () => {
    const files = [...new Bun.Glob('src/features/*/events.ts').scanSync(root)]
    expect(files.length).toBeGreaterThan(20)
    for (const file of files) {
      const defined = Object.values((await import(join(root, file))) as Record<string, EventType>)
      const listed = features.some((feature) => defined.every((event) => feature.events?.includes(event)))
      expect([file, listed]).toEqual([file, true])
    }
  })

  test('has each name once, made of a noun and a verb, with a description', () => {
    expect(new Set(events.map((e) => e.name)).size).toBe(events.length)
    for (const { name, description, kind } of events) {
      expect(name).toMatch(/^[a-z_]+\.[a-z_]+$/)
      expect(kind).toMatch(/^[a-z_]+$/)
      expect(description).toMatch(/^[A-Z].{8,120}[^.]$/)
    }
    expect(
      () => new EventCatalogue([...events, defineEvent('note.created', { kind: 'note', description: 'Again' })]),
    ).toThrow('defined twice: note.created')
  })

  test('gives each event the kind that its name begins with, except where two kinds share a noun', () => {
    const other = events.filter(({ name, kind }) => name !== `${kind}.${name.slice(kind.length + 1)}`)
    expect(other.map((e) => e.name).sort()).toEqual(['session.confirmed', 'session.revoked'])
  })
})

test('isDeletion matches exactly the events that delete', () => {
  const condition = new PgDialect().sqlToQuery(isDeletion(sql`type`)).sql
  const [, end] = /^type like '%([^%_']+)'$/.exec(condition) ?? []
  expect(end).toBeDefined()
  const deleting = catalogue.types(({ deletes }) => deletes === true)
  expect(deleting.length).toBeGreaterThan(20)
  expect(deleting).toEqual(catalogue.types(({ name }) => name.endsWith(end as string)))
})

test('exactly these events make the server read credentials again', () => {
  expect(catalogue.types((e) => e.changes === 'rights').sort()).toEqual([
    'api_key.created',
    'api_key.revoked',
    'grant.created',
    'grant.revoked',
    'mcp_token.created',
    'mcp_token.introduced',
    'mcp_token.revoked',
    'member.added',
    'member.removed',
    'member.role_changed',
    'organization.created',
    'organization.deleted',
    'organization.plan_changed',
    'organization.updated',
    'session.confirmed',
    'session.revoked',
    'tunnel.claimed',
    'tunnel.deleted',
    'user.account_confirmed',
    'user.code_read',
    'user.deleted',
    'user.email_change_requested',
    'user.email_changed',
    'user.email_restored',
    'user.email_verified',
    'user.impersonated',
    'user.onboarded',
    'user.password_changed',
    'user.password_reset',
    'user.preferences_changed',
    'user.refreshed',
    'user.registered',
    'user.role_changed',
    'user.signed_in',
    'user.suspended',
    'user.unsuspended',
    'user.updated',
    'workspace.created',
    'workspace.deleted',
    'workspace.shared',
    'workspace.unshared',
    'workspace.updated',
  ])
})

test('exactly these events are about access; all others are in the activity feed', () => {
  const kinds = new Set(events.filter((e) => e.feed === 'access').map((e) => e.kind))
  expect([...kinds].sort()).toEqual([
    'announcement',
    'api_key',
    'auth',
    'category',
    'change',
    'community_post',
    'connected_account',
    'contact_message',
    'device',
    'grant',
    'integration',
    'invite',
    'issue',
    'login_session',
    'marketplace_item',
    'mcp_token',
    'member',
    'notification',
    'oauth_client',
    'organization',
    'page',
    'passkey',
    'post',
    'push_subscription',
    'setting',
    'sponsor',
    'sync_device',
    'tracker',
    'tunnel',
    'user',
    'workspace',
    'workspace_invite',
  ])
  expect(events.filter((e) => e.feed === 'work' && kinds.has(e.kind))).toEqual([])
  // No work: what was synced is another event, a brief is for its reader, and a view only shows what there is.
  expect(events.filter((e) => e.feed === 'none').map((e) => e.name)).toEqual([
    'chat.answered',
    'chat.asked',
    'chat.created',
    'chat.decided',
    'chat.deleted',
    'chat.renamed',
    'synced_record.changed',
    'session.briefed',
    'view.created',
    'view.deleted',
    'view.updated',
  ])
})

test('every kind that is an MCP resource has live events, except for briefs, checkpoints and renewals', () => {
  const kinds = new Set(events.filter((e) => e.live).map((e) => e.kind))
  // A kind that is missing here needs `live: true` in its events.ts.
  expect([...kinds].sort()).toEqual(records.all.flatMap(({ kind, resource }) => (resource ? kind : [])).sort())
  const silent = events.filter((e) => !e.live && kinds.has(e.kind)).map((e) => e.name)
  expect(silent.sort()).toEqual(['session.briefed', 'session.checkpointed', 'task.renewed'])
})

describe('a stored event type that is not in the catalogue', () => {
  test('may come from a newer instance: credentials are read again, and its kind is its noun', () => {
    expect(catalogue.changesRights({ type: 'user.frozen', action: 'admin.freeze' })).toBe(true)
    expect(catalogue.kindOf('note.pinned')).toBe('note')
  })

  test('may be the id of an action that emitted no event, which changes no rights', () => {
    expect(catalogue.changesRights({ type: 'search.index', action: 'search.index' })).toBe(false)
  })

  test('may be logged by hand: it has no kind, changes no rights, and cannot pass for an event', () => {
    expect(catalogue.changesRights({ type: 'user', action: 'activity.log' })).toBe(false)
    expect(catalogue.kindOf('deploy')).toBeUndefined()
    const event = defineEvent('activity.logged', { kind: 'activity', description: 'It was logged' })
    expect(withHandLoggedType(event, 'deploy').name).toBe('deploy')
    expect(() => withHandLoggedType(event, 'user.suspended')).toThrow('not a type for what is logged by hand')
  })
})
