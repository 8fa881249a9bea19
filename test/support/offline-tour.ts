/**
 * Uses the parts of the built program that might want to call somebody. `binary/offline.test.ts` runs it without a
 * network and watches its system calls. Prints one line for each step.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiKeyFor, BINARY, bareEnv, EMAIL, folder, json, PASSWORD, serve, tutti } from './binary.ts'

const server = await serve({ env: { EMBEDDINGS: 'on' } })
const key = await apiKeyFor(server)
const call = (path: string, init: RequestInit = {}) =>
  fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })

async function step<T>(name: string, work: Promise<Response>): Promise<T> {
  const response = await work
  const text = await response.text()
  if (!response.ok) throw new Error(`${name}: ${response.status} ${text}`)
  console.log(name)
  return (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) as T
}

async function command(...args: string[]): Promise<void> {
  const { code, err } = await tutti([...args, '--data-dir', server.dir])
  if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`)
  console.log(args[0])
}

await command('seed', '--demo')
const signedIn = await step<{ token: string; user: { organizationId?: string } }>(
  'login',
  fetch(`${server.url}/api/auth/login`, json('POST', { email: EMAIL, password: PASSWORD })),
)
const [team] = (await step<{ items: { id: string }[] }>('teams', call('/api/teams'))).items
const { token } = await step<{ token: string }>(
  'token',
  fetch(`${server.url}/api/mcp-tokens`, json('POST', { name: 'agent', organizationId: team?.id }, signedIn.token)),
)

const tool = (name: string, args: object) => {
  const { headers, ...init } = json(
    'POST',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    token,
  )
  return fetch(`${server.url}/mcp`, { ...init, headers: { ...headers, accept: 'application/json, text/event-stream' } })
}
await step('remember', tool('store_memory', { content: 'The keeper climbs the stairs at dusk.' }))
const recalled = await step<string>('recall', tool('search_memory', { query: 'Who climbs the stairs in the evening?' }))
if (!recalled.includes('"mode":"hybrid"')) throw new Error(`Not found by meaning: ${recalled}`)
await step('search', call('/api/search?q=lighthouse'))
await step('ask', call('/api/search/ai', json('POST', { query: 'lighthouse' }, key)))

// Without SMTP, mail is kept.
await step('code', fetch(`${server.url}/api/auth/otp/send`, json('POST', { email: EMAIL })))
await step(
  'invite',
  call(`/api/teams/${team?.id}/invite`, json('POST', { email: 'b@example.com', role: 'member' }, key)),
)
await command('outbox')
for (const page of ['/', '/login', '/manual', '/api/reference', '/api/openapi.json', '/health'])
  await step(page, call(page))

await command('backup', join(folder(), 'backup.tutti'))
await command('doctor', '--json')
await command('config')
await command('migrate', 'status')
await server.stop()

const own = join(folder(), 'tutti')
copyFileSync(BINARY, own)
const sum = new Bun.CryptoHasher('sha256').update(await Bun.file(BINARY).bytes()).digest('hex')
const words = ['upgrade', '--file', BINARY, '--sha256', sum, '--data-dir', server.dir]
const upgraded = Bun.spawnSync([own, ...words], { env: bareEnv })
if (upgraded.exitCode !== 0) throw new Error(`upgrade: ${upgraded.stderr.toString()} ${upgraded.stdout.toString()}`)
console.log('upgrade')
