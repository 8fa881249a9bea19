import { cpSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freshDatabase } from '../support/postgres.ts'
import type { DatabaseName } from './part.ts'
import { type Process, quiet, start, stopAll } from './processes.ts'

/** How many streams `tokens` are enough for: a token may have ten at once. */
export const STREAMS = 500

const binary = resolve(import.meta.dir, '../../dist/tutti')

/** Limits that no load of the bench reaches. */
export const limits = {
  RATE_LIMIT_PER_MINUTE: '1000000',
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_ANONYMOUS: '1000000',
  RATE_LIMIT_MCP: '1000000',
  RATE_LIMIT_LOGIN: '1000',
}

export interface World {
  env: Record<string, string | undefined>
  /** An API key of `userId`. */
  token: string
  userId: string
  /** One of 200. */
  noteId: string
  taskId: string
  /** MCP tokens. */
  tokens: string[]
}

/** The compiled server, of this build or of another one. */
export const serve = (env: World['env'], program = binary, port = '0'): Promise<Process> =>
  start([program, 'serve', '--port', port], { LOG_LEVEL: 'warn', ...env })

const folders: string[] = []
const databases: { drop(): Promise<void> }[] = []

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-bench-'))
  folders.push(folder)
  return folder
}

/** Ends every process and removes every folder and database that the bench has made. */
export async function cleanUp(): Promise<void> {
  await stopAll()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  for (const database of databases.splice(0)) await database.drop()
}

/** The environment of a server without data. */
export async function emptyEnv(database: DatabaseName): Promise<Record<string, string>> {
  const folder = newFolder()
  if (database === 'embedded') return { DATA_DIR: folder, ...limits }
  const made = await freshDatabase()
  databases.push(made)
  return { DATA_DIR: folder, DATABASE_URL: made.url, ...limits }
}

/**
 * An environment with the same data, for a second process: an embedded database belongs to one process. Call it while
 * none has the data open.
 */
export function twin({ env }: World): World['env'] {
  if (env.DATABASE_URL) return env
  const folder = newFolder()
  cpSync(env.DATA_DIR as string, folder, { recursive: true, filter: (path) => !lstatSync(path).isSocket() })
  return { ...env, DATA_DIR: folder }
}

export const PASSWORD = 'violet anchor prefers rain'

/** Creates an account with a team of its own, on a server that runs with `env`. */
export async function createPerson(env: World['env'], email: string, program = binary): Promise<void> {
  const create = Bun.spawn([program, 'admin', 'create', '--email', email, '--name', 'Ada', '--password-stdin'], {
    env: { PATH: process.env.PATH, ...env },
    stdin: new Blob([PASSWORD]),
    stdout: 'ignore',
  })
  if ((await create.exited) !== 0) throw new Error('admin create failed')
}

export const signIn = (server: Process, email: string) =>
  call<{ token: string; user: { id: string } }>(server, '/api/auth/login', { body: { email, password: PASSWORD } })

export async function createWorld(env: World['env'], program = binary): Promise<World> {
  const server = await serve(env, program)
  await createPerson(env, 'ada@example.com', program)
  const session = await signIn(server, 'ada@example.com')
  const { token } = await call<{ token: string }>(server, '/api/settings/api-keys', {
    body: { name: 'bench' },
    token: session.token,
  })
  const team = await call<{ id: string }>(server, '/api/team', { token })
  const tokens: string[] = []
  for (let i = 0; i < STREAMS / 10; i++) {
    const body = { name: `bench ${i}`, organizationId: team.id }
    tokens.push((await call<{ token: string }>(server, '/api/mcp-tokens', { body, token: session.token })).token)
  }
  const noteId = await fillNotes(server, token)
  const taskId = await fillTasks(server, token)
  // What is written is made searchable afterwards; a server that still does so is not what is measured.
  await quiet(server)
  await server.stop()
  return { env, token, tokens, userId: session.user.id, noteId, taskId }
}

async function fillNotes(server: Process, token: string): Promise<string> {
  let last = ''
  for (let i = 0; i < 200; i++) {
    const body = { title: `Note ${i}`, content: 'lorem ipsum '.repeat(40), tags: ['bench'], scope: 'team' }
    last = (await call<{ id: string }>(server, '/api/notes', { body, token })).id
  }
  return last
}

async function fillTasks(server: Process, token: string): Promise<string> {
  const project = await call<{ slug: string }>(server, '/api/projects', { body: { name: 'Bench' }, token })
  const tasks = `/api/projects/${project.slug}/tasks`
  const description = 'lorem ipsum '.repeat(40)
  const first = await call<{ key: string }>(server, tasks, { body: { title: 'The first', description }, token })
  const body = { title: 'The second', description, labels: ['bench'], blockedBy: [first.key] }
  const { id } = await call<{ id: string }>(server, tasks, { body, token })
  await call(server, `/api/tasks/${id}/comments`, { body: { body: 'Looks good to me.' }, token })
  return id
}

/** POST where there is a body, otherwise GET. */
export async function call<T>(
  server: Pick<Process, 'url'>,
  path: string,
  how: { body?: object; token?: string },
): Promise<T> {
  const response = await fetch(server.url + path, {
    method: how.body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', ...(how.token && { authorization: `Bearer ${how.token}` }) },
    body: how.body && JSON.stringify(how.body),
  })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  return (await response.json()) as T
}
