import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Visitor } from '../../support/visitor.ts'
import { compare, median, type Part, ratioOf } from '../part.ts'
import { cpuPerCall, type Process, rate, start } from '../processes.ts'
import { call, emptyEnv, serve, signIn } from '../world.ts'

const CALLBACK = 'http://127.0.0.1:7777/callback'

/** Signing in by the standard, against oidc-provider, and a call with what one gets, against a static token. */
export const part: Part = async function* (bench) {
  if (!bench.databases.includes('Postgres')) return
  const { DATABASE_URL } = await emptyEnv('Postgres')
  const peer = await start(['node', join(import.meta.dir, '../oidc-server.mjs')], { DATABASE_URL })
  const visitor = new Visitor()
  for (const database of bench.databases) {
    const world = await bench.world(database)
    const ours = await serve(world.env)
    const person = (await signIn(ours, 'ada@example.com')).token
    const { client_id: clientId } = await call<{ client_id: string }>(ours, '/oauth/register', {
      body: { client_name: 'Bench', redirect_uris: ['http://127.0.0.1/callback'] },
    })
    const { id: organizationId } = await call<{ id: string }>(ours, '/api/team', { token: person })
    const signedIn = await compare(bench, {
      ours: each(
        () => throughOurs(ours, { clientId, person, organizationId }),
        (token) => revoke(ours, clientId, token),
      ),
      peer: each(() => throughPeer(peer, visitor)),
    })
    yield {
      what: `authorize to token, without the person, ${database}`,
      ours: `${median(signedIn.ours).toFixed(1)} ms`,
      against: `oidc-provider ${median(signedIn.peer).toFixed(1)} ms`,
      ratio: ratioOf(signedIn.ours, signedIn.peer),
      bar: { most: 1 },
    }
    const granted = await throughOurs(ours, { clientId, person, organizationId })
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_task', arguments: { task: world.taskId } },
    })
    const headers = { Accept: 'application/json, text/event-stream' }
    const cpuOf = (token?: string) => (seconds: number) =>
      cpuPerCall(
        ours,
        async () => (await rate(`${ours.url}/mcp`, seconds, { token, body, headers })) * seconds,
        seconds,
      )
    const calls = await compare(bench, { granted: cpuOf(granted), fixed: cpuOf(world.tokens[0]) })
    yield {
      what: `a call to /mcp with a grant's token, server CPU, ${database}`,
      ours: `${median(calls.granted).toFixed(0)} µs`,
      against: `static token ${median(calls.fixed).toFixed(0)} µs`,
      ratio: ratioOf(calls.granted, calls.fixed),
      bar: { most: 1.02 },
    }
    await ours.stop()
  }
  await peer.stop()
}

/** Milliseconds of one of them, when they follow each other for that many seconds. What comes after each does not count. */
const each = (once: () => Promise<string>, after?: (token: string) => Promise<unknown>) => async (seconds: number) => {
  const until = performance.now() + seconds * 1000
  let [milliseconds, count] = [0, 0]
  for (; performance.now() < until; count++) {
    const started = performance.now()
    const token = await once()
    milliseconds += performance.now() - started
    await after?.(token)
  }
  return milliseconds / count
}

/** A person has at most a hundred of them. */
const revoke = (server: Process, clientId: string, token: string): Promise<Response> =>
  fetch(`${server.url}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token, client_id: clientId }) })

function request(clientId: string, more: Record<string, string>) {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    state: 'x',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }).toString()
  const exchange = (code: string | null) =>
    new URLSearchParams({
      grant_type: 'authorization_code',
      code: code ?? '',
      client_id: clientId,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    })
  return { query, exchange }
}

async function tokenFrom(url: string, form: URLSearchParams): Promise<string> {
  const response = await fetch(url, { method: 'POST', body: form })
  const { access_token: token } = (await response.json()) as { access_token?: string }
  if (!token) throw new Error(`${url} gave no token: ${response.status}`)
  return token
}

async function throughOurs(
  server: Process,
  { clientId, person, organizationId }: { clientId: string; person: string; organizationId: string },
): Promise<string> {
  const { query, exchange } = request(clientId, { scope: 'read' })
  const page = await fetch(`${server.url}/oauth/authorize?${query}`, { redirect: 'manual' })
  await page.arrayBuffer()
  const { ticket } = await call<{ ticket: string }>(server, '/api/settings/grants/decide', {
    body: { request: query, decision: 'allow', organizationId },
    token: person,
  })
  const sent = await fetch(`${server.url}/oauth/consent`, {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: `Bearer ${person}` },
    body: new URLSearchParams({ ticket }),
  })
  const location = sent.headers.get('location')
  if (!location) throw new Error(`the consent was not taken: ${await sent.text()}`)
  const code = new URL(location).searchParams.get('code')
  return tokenFrom(`${server.url}/oauth/token`, exchange(code))
}

async function throughPeer(server: Process, visitor: Visitor): Promise<string> {
  const { query, exchange } = request('bench', { scope: 'openid offline_access', prompt: 'consent' })
  let at = `${server.url}/auth?${query}`
  while (!at.startsWith(CALLBACK)) at = await visitor.next(at)
  return tokenFrom(`${server.url}/token`, exchange(new URL(at).searchParams.get('code')))
}
