import { beforeAll, describe, expect, test } from 'bun:test'
import { tools } from '../../src/all-features.ts'
import { check } from '../../src/check.ts'
import { AppError } from '../../src/errors.ts'
import { toolFailure } from '../../src/mcp/result.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { mcpToken, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { type McpClient, ways } from './support.ts'

let t: TestApp
let ada: Person
let client: McpClient
const told = async (name: string, args: Record<string, unknown>, as = client): Promise<string> => {
  const answer = await as.call(name, args)
  expect([name, answer.isError]).toEqual([name, true])
  return answer.content[0]?.text as string
}

beforeAll(async () => {
  t = await sharedApp()
  ada = await person(t)
  client = await (Object.values(ways)[0] as (typeof ways)[keyof typeof ways])(t.url, await mcpToken(t, ada))
})

describe('an unknown argument', () => {
  test.each([
    ['create_task', { title: 'T', due: '2026-12-01' }, 'due is not an argument of create_task. Did you mean dueAt?'],
    ['create_task', { title: 'T', due_at: '2026-12-01' }, 'Did you mean dueAt?'],
    ['create_task', { title: 'T', dependsOn: ['X'] }, 'Did you mean blockedBy?'],
    ['create_task', { title: 'T', prioritty: 'low' }, 'Did you mean priority?'],
    ['create_spec', { title: 'T', content: 'x', body: 'x' }, 'Did you mean content?'],
    ['get_note', { id: 'x' }, 'Did you mean note?'],
    ['list_projects', { keywords: 'x' }, 'Did you mean query?'],
    [
      'create_task',
      { title: 'T', evidence: [] },
      'evidence is an argument of update_task and complete_task. create_task takes: title,',
    ],
    ['create_project', { name: 'N', key: 'NN' }, 'invalid: key is derived from name, so leave it out.'],
    ['get_project', { surprise: 1 }, 'surprise is not an argument of get_project, which takes: project.'],
  ])('of %s gets a suggestion of the right one: %j', async (name, args, sentence) => {
    expect(await told(name, args)).toContain(sentence)
  })

  test('gets no suggestion of a tool that the caller cannot see', async () => {
    const narrow = await mcpToken(t, ada, { scopes: ['tasks:read', 'projects:write'] })
    const other = await (Object.values(ways)[0] as (typeof ways)[keyof typeof ways])(t.url, narrow)
    expect(await told('get_task', { task: 'X-1', evidence: [] }, other)).not.toContain('complete_task')
    await other.close()
  })

  test('together with its other name is refused', async () => {
    expect(await told('create_note', { title: 'N', tags: ['a'], labels: ['b'] })).toContain(
      'labels and tags are the same argument. Send only tags.',
    )
  })
})

describe('an unknown name of a record', () => {
  test('gets suggestions of similar names', async () => {
    const { body: project } = await ada.fetch<{ id: string; key: string; slug: string }>('POST', '/api/projects', {
      name: 'Folder lock',
      key: 'FLK',
    })
    await ada.fetch('POST', `/api/projects/${project.id}/tasks`, { title: 'Lock it' })
    const { body: note } = await ada.fetch<{ slug: string }>('POST', '/api/notes', { title: 'Deploying' })
    expect(await told('get_project', { project: 'FLKS' })).toBe('not_found: Project FLKS not found. Did you mean FLK?')
    expect(await told('get_project', { project: 'Folder' })).toEndWith('Did you mean FLK?')
    expect(await told('get_note', { note: 'deploying' })).toEndWith(`Did you mean ${note.slug}?`)
    expect(await told('get_task', { task: 'FLKK-1' })).toEndWith('Did you mean a task of FLK?')
    expect(await told('get_task', { task: 'FLK-7' })).toContain('FLK-1')
    expect(await told('get_project', { project: 'entirely-other' })).toEndWith('Find the right one with list_projects.')
  })

  test('gets no suggestion of records that the token cannot read', async () => {
    const { body: project } = await ada.fetch<{ id: string }>('POST', '/api/projects', { name: 'Hidden', key: 'HIDE' })
    const stranger = await mcpToken(t, await person(t))
    const narrow = await mcpToken(t, ada, { scopes: ['tasks:read'] })
    for (const token of [stranger, narrow]) {
      const other = await (Object.values(ways)[0] as (typeof ways)[keyof typeof ways])(t.url, token)
      expect(await told('get_task', { task: 'HIDES-1' }, other)).not.toMatch(/HIDE\b/)
      await other.close()
    }
    expect(project.id).toBeString()
  })
})

describe('an error about an argument with several forms names them:', () => {
  const input = (name: string) => (tools.find((tool) => tool.name === name) as Tool).input
  test.each([
    ['log_decision', { title: 'T', decision: 'D', alternatives: [7] }, 'text, or an object with option (optional: '],
    [
      'create_note',
      { title: 'T', links: [7] },
      'text, or an object with url (optional: title), or an object with type',
    ],
    ['create_note', { title: 'T', links: [{}] }, 'or an object with url (optional: title)'],
    [
      'log_decision',
      { title: 'T', decision: 'D', alternatives: [{ pros: 'x' }] },
      'alternatives.0.option is required.',
    ],
    ['complete_task', { task: 'X-1', accepted: 'some' }, '"all", or a list, each item a number or text'],
  ])('%s', (name, args, sentence) => {
    const [error] = check(input(name), args)
    expect(error?.message).toContain(sentence)
    expect(error?.message).not.toContain('union')
  })
})

describe('tool errors', () => {
  test('name tools, pages or commands, but never routes', () => {
    const next = {
      tool: 'list_projects',
      route: 'GET /api/projects',
      command: 'tutti projects list',
      page: '/projects',
    }
    const { tool, page, command, route } = next
    const call = { tool: 'get_project', requestId: 'id' }
    const said = (ways: object) =>
      toolFailure(new AppError('conflict', 'No.', { next: [ways] }), { ...call, usable: new Set([tool]) }).text
    expect(said(next)).toBe('conflict: No. Use list_projects.')
    expect(said({ page, command, route })).toBe('conflict: No. Page: /projects.')
    expect(said({ command, route })).toBe('conflict: No. A person can run: tutti projects list')
    expect(said({ route })).toBe('conflict: No.')
    expect(said({ tool: 'create_pr', route })).toBe('conflict: No.')
  })

  test('name no routes for calls without arguments and with unknown records', async () => {
    for (const tool of tools) {
      const given = Object.keys(tool.input.properties).filter((name) => name !== 'idempotencyKey')
      for (const args of [{}, Object.fromEntries(given.map((name) => [name, 'nothing-there']))]) {
        const { isError, content } = await client.call(tool.name, args)
        if (isError) expect([tool.name, content[0]?.text]).toEqual([tool.name, expect.not.stringMatching(/\/api\//)])
      }
    }
  })
})
