import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { anonymous } from '../../src/auth/actor.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/db/index.ts'
import * as accounts from '../../src/features/accounts/service.ts'
import { createLog } from '../../src/log.ts'
import { startHttp } from '../../src/server/server.ts'
import { fill } from './growth-data.ts'
import { call } from './world.ts'

export interface Office {
  url: string
  /** The name in addresses of the project with all the tasks. */
  slug: string
  email: string
  password: string
  close(): Promise<void>
}

const TASKS = 10_000
const NOTES = 500
const EVENTS = 50_000

/** A server with the dashboard, and a team with one large project: 10,000 tasks, 500 notes and 50,000 events. */
export async function openOffice(): Promise<Office> {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-web-'))
  const email = 'ada@example.com'
  const password = 'violet anchor prefers rain'
  const limit = '1000000'
  const config = loadConfig({
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: folder,
      EMBEDDINGS: 'off',
      DB_STATEMENT_TIMEOUT_MS: '600000',
      RATE_LIMIT_PER_MINUTE: limit,
      RATE_LIMIT_BURST: limit,
      RATE_LIMIT_LOGIN: limit,
    },
  })
  const log = createLog('error')
  const driver = await openDatabase(config, log)
  const app = await createApp(config, { driver, log, background: false })
  const http = startHttp(app)
  const at = { url: app.url }
  const added = await accounts.addUser(contextOf(app, anonymous), {
    email,
    name: 'Ada Lovelace',
    passwordHash: await hashPassword(password),
    role: 'user',
  })
  const how = { token: added.token }
  const { id: organizationId } = await call<{ id: string }>(at, '/api/team', how)
  const project = await call<{ id: string; slug: string }>(at, '/api/projects', { ...how, body: { name: 'Lantern' } })
  const agent = await call<{ id: string }>(at, '/api/agents', { ...how, body: { name: 'Fable', scope: 'team' } })
  const place = { organizationId, projectId: project.id, userId: added.user.id, agentId: agent.id }
  await fill(driver, place, TASKS)
  await driver.exec(`
    insert into notes (id, created_at, updated_at, organization_id, created_by_id, title, slug, content, tags, links,
        scope, mentions)
      select gen_random_uuid(), now(), now(), '${organizationId}', '${added.user.id}', 'Note ' || n, 'note-' || n,
        'What it is about, number ' || n, '{}', '[]', 'team', '{}'
      from generate_series(1, ${NOTES}) n;
    insert into events (id, at, type, action, actor_kind, actor_id, actor_name, organization_id, project_id, subject_id,
        data, request_id, origin)
      select gen_random_uuid(), e.at - interval '7 days' * k, e.type, e.action, e.actor_kind, e.actor_id, e.actor_name,
        e.organization_id, e.project_id, e.subject_id, e.data, e.request_id, gen_random_uuid()
      from (select * from events where request_id = 'bench' limit ${EVENTS / 5}) e, generate_series(1, 4) k;
    analyze`)
  return {
    ...at,
    slug: project.slug,
    email,
    password,
    close: async () => {
      await http.stop(100)
      await app.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
