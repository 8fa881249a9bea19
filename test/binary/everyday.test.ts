import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, PASSWORD, tutti } from '../support/binary.ts'
import { codeIn } from '../support/mail.ts'
import { Home, Office } from './home.ts'

let office: Office
let home: Home
beforeAll(async () => {
  office = await Office.open({ EMBEDDINGS: 'off' })
  home = await office.signedIn()
}, 300_000)
afterAll(() => office.server.kill())

/** Creates Bob, whose address is confirmed so that they can be invited, and returns their token. */
async function bob(): Promise<string> {
  const email = 'bob@example.com'
  await office.api('POST', '/api/auth/otp/send', { email })
  const { out } = await tutti(['outbox', '--data-dir', office.server.dir, '--json'])
  const mail = (JSON.parse(out) as { items: { to: string; text: string }[] }).items.find(({ to }) => to === email)
  const code = codeIn(mail as { text: string })
  return (await office.api<{ token: string }>('POST', '/api/auth/otp/verify', { email, code })).body.token
}

describe('a team that the user is not a member of', () => {
  test('does not prevent choosing another team after it was deleted', async () => {
    await home.run('teams', 'create', 'Engines')
    await home.run('teams', 'use', 'engines')
    await home.run('teams', 'delete', 'engines', '--yes')
    const lost = await home.run('tasks', 'list')
    expect(lost.code).toBe(4)
    expect(lost.err).toContain('tutti teams use')
    expect(lost.err).not.toContain('X-Organization-Id')
    const mine = await home.run('teams', 'list', '--json')
    expect(mine.code).toBe(0)
    const [team] = (JSON.parse(mine.out) as { items: { slug: string }[] }).items
    expect((await home.run('status')).code).toBe(0)
    expect((await home.run('teams', 'use', team?.slug as string)).code).toBe(0)
    expect((await home.run('tasks', 'list')).code).toBe(0)
  })

  test('works in a folder linked to one of its projects that the user can see', async () => {
    const { id, organizationId } = JSON.parse((await home.run('projects', 'create', 'Shared', '--json')).out) as Record<
      string,
      string
    >
    const engines = JSON.parse((await home.run('teams', 'create', 'Engines', '--json')).out) as { id: string }
    const token = await bob()
    await home.run('teams', 'invite', engines.id, 'bob@example.com')
    const { items } = (await office.api<{ items: { id: string }[] }>('GET', '/api/invites', undefined, token)).body
    await office.api('POST', `/api/invites/${items[0]?.id}/accept`, {}, token)
    const space = (
      await office.api<{ id: string }>('POST', `/api/teams/${organizationId}/workspaces`, { name: 'Both' })
    ).body
    await office.api('POST', `/api/projects/${id}/share`, { workspaceId: space.id })
    await office.api('POST', `/api/workspaces/${space.id}/teams`, { teamId: engines.id, role: 'editor' })
    const bobsHome = new Home(office)
    const { userCode, done } = await bobsHome.login()
    await office.api('POST', '/api/auth/device/approve', { userCode }, token)
    await done
    const linkOf = (path: string) =>
      (JSON.parse(readFileSync(join(path, '.tutti.json'), 'utf8')) as { team: string | null }).team
    const [work, hers] = [folder(), folder()]
    expect((await bobsHome.within(work, ['link', id as string])).code).toBe(0)
    expect(linkOf(work)).toBeNull()
    expect((await bobsHome.within(work, ['tasks', 'list'])).code).toBe(0)
    await home.within(hers, ['link', id as string])
    expect(linkOf(hers)).toBe(organizationId as string)
  })
})

describe('typed input', () => {
  test('is refused unless it is a time', async () => {
    await home.run('projects', 'create', 'Times', '--key', 'TIM')
    const due = (time: string, env = {}) =>
      tutti(['tasks', 'create', 'x', '-p', 'TIM', '--due', time], { env: { ...home.env, ...env } })
    for (const nonsense of ['10', '2027-02-30', '2027-13-01', 'someday', '1/2/2027', '2027-01-31T25:00'])
      expect([nonsense, (await due(nonsense)).code]).toEqual([nonsense, 2])
    // A day is the same everywhere; an hour is in the time zone of the writer, and of the reader.
    expect((await due('2027-01-31', { TZ: 'America/New_York' })).out).toMatch(/Due +2027-01-31\n/)
    expect((await due('2027-01-31T22:00', { TZ: 'America/New_York' })).out).toMatch(/Due +2027-01-31 22:00\n/)
    expect((await due('2027-01-31T22:00Z', { TZ: 'Asia/Tokyo' })).out).toMatch(/Due +2027-02-01 07:00\n/)
  })

  test('treats none as "clear" only on update', async () => {
    const made = await home.run('projects', 'create', 'None', '--key', 'NON', '-d', 'none', '--json')
    expect(JSON.parse(made.out)).toMatchObject({ description: 'none' })
    const changed = await home.run('projects', 'update', 'NON', '-d', 'none', '--json')
    expect(JSON.parse(changed.out)).toMatchObject({ description: null })
  })

  test('gets errors that name options and commands', async () => {
    await home.run('projects', 'create', 'Words', '--key', 'WRD')
    const none = await home.run('tasks', 'next', '-p', 'WRD')
    expect(none).toMatchObject({ code: 0, out: '', err: expect.stringContaining('tutti tasks create') })
    const { id } = JSON.parse((await home.run('features', 'create', 'Lock', '-p', 'WRD', '--json')).out) as {
      id: string
    }
    expect((await home.run('features', 'advance', id)).out).toContain('still missing: what changed (--summary)')
    const refused = await home.run('features', 'advance', id)
    expect(refused.code).toBe(5)
    expect(refused.err).toContain('--summary')
    expect(refused.err).toContain('--file or --commit or --pull-request')
    expect(refused.err).not.toMatch(/evidence\.|advance_feature|POST/)
    await home.run('features', 'advance', id, '--summary', 'Locked', '--file', 'src/lock.ts')
    const tests = ['--summary', 'Tested', '--test-command', 'bun test']
    const failed = await home.run('features', 'advance', id, ...tests, '--passed', '3', '--failed', '1')
    expect(failed.code).toBe(5)
    expect(failed.err).toContain('(submitted: 3 passed, 1 failed)')
    expect(failed.err).toContain('(--test-command or --test-run or --link)')
    expect((await home.run('features', 'advance', id, ...tests, '--passed', '3')).out).toContain('in_docs')
    expect((await home.run('features', 'show', id)).out).toContain('test complete (reported). Tested')
    await home.run('tasks', 'create', 'one', '-p', 'WRD', '--status', 'backlog')
    expect((await home.run('tasks', 'next', '-p', 'WRD')).err).toContain('WRD-1 one: is in the backlog')
  })
})

describe('without a writable config folder', () => {
  const file = join(folder(), 'file')
  writeFileSync(file, '')

  test('login fails before it asks for approval', async () => {
    const { code, err } = await tutti(['login', office.url], { env: { XDG_CONFIG_HOME: file } })
    expect(code).toBe(4)
    expect(err).toContain(file)
    expect(err).not.toContain('/device')
  })

  test('the error is not reported as a bug', async () => {
    expect((await tutti(['serve', '--port', '0', '--data-dir', join(file, 'data')])).code).toBe(4)
    const work = folder()
    const dangling = join(work, 'nowhere')
    expect((await tutti(['outbox', '--data-dir', dangling])).code).toBe(4)
    expect(
      (
        await tutti(['admin', 'reset-password', '--email', 'a@b.c', '--password-stdin', '--data-dir', dangling], {
          stdin: PASSWORD,
        })
      ).code,
    ).toBe(4)
    // A mistyped folder has not become an installation.
    expect(existsSync(dangling)).toBe(false)
  })

  const postgres = process.env.TEST_DATABASE_URL
  test.skipIf(!postgres)('an unreachable or missing database is named in the error', async () => {
    const none = new URL(postgres as string)
    none.pathname = '/tutti_is_not_there'
    const missing = await tutti(['migrate', 'status', '--data-dir', folder()], { env: { DATABASE_URL: none.href } })
    expect(missing).toMatchObject({ code: 4, err: expect.stringContaining(`${none.host}/tutti_is_not_there`) })
    const away = await tutti(['migrate', 'status', '--data-dir', folder()], {
      env: { DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/x' },
    })
    expect(away.code).toBe(6)
    expect(away.err).toStartWith('tutti: postgres://127.0.0.1:1/x')
    expect(away.err).not.toContain('hush')
  })
})

test('config policy prints JSON', async () => {
  const { items } = JSON.parse((await tutti(['config', 'policy', '--json'])).out) as {
    items: { action: string; scope: string | null }[]
  }
  expect(items.find(({ action }) => action === 'notes.create')).toMatchObject({ scope: 'notes:write' })
})
