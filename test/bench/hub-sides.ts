import { EACH, type Ear, type Listeners, listen, socketUrl } from './listeners.ts'
import type { Process } from './processes.ts'
import { call, createPerson, signIn, type World } from './world.ts'

/** Sockets that are open at once at most, which our side has credentials for. */
export const IDLE = 10_000

/** A side of a comparison: how one listens there, and how one makes it say something. */
export interface Side {
  server: Process
  open(count: number): Promise<Listeners>
  say(): Promise<unknown>
  /** Makes it collect its garbage, where it does not by itself. */
  collect?(): Promise<unknown>
}

/** Our hub, with credentials for that many sockets. The first ones hear of the notes that `say` creates. */
export async function ourSide(
  server: Process,
  world: World,
  env: World['env'],
  sockets = IDLE,
): Promise<Side & { ears: Ear[] }> {
  const ears: Ear[] = await keysOf(server, 'ada@example.com')
  for (let i = 1; ears.length < sockets / EACH; i++) {
    await createPerson(env, `ada${i}@example.com`)
    ears.push(...(await keysOf(server, `ada${i}@example.com`)))
  }
  return {
    server,
    ears,
    open: (count) => listen(socketUrl(server, '/api/ws'), count, ears),
    say: () => call(server, '/api/notes', { body: noteBody, token: world.token }),
  }
}

/** As many API keys as a person may have, less a few that there are. Those of an earlier part are removed. */
async function keysOf(server: Process, email: string): Promise<Ear[]> {
  const { token: session } = await signIn(server, email)
  const { id } = await call<{ id: string }>(server, '/api/team', { token: session })
  const keys = await call<{ items: { id: string; name: string }[] }>(server, '/api/settings/api-keys?limit=100', {
    token: session,
  })
  for (const key of keys.items)
    if (key.name.startsWith('hub '))
      await fetch(`${server.url}/api/settings/api-keys/${key.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${session}` },
      })
  const ears: Ear[] = []
  for (let i = 0; i < 95; i++) {
    const body = { name: `hub ${i}` }
    const { token } = await call<{ token: string }>(server, '/api/settings/api-keys', { body, token: session })
    ears.push({ token, topic: `organization:${id}` })
  }
  return ears
}

export const noteBody = { title: 'bench', content: 'x'.repeat(500), scope: 'team' }

export const otherSide = (server: Process): Side => ({
  server,
  open: (count) => listen(socketUrl(server, '/listen'), count),
  say: () => fetch(`${server.url}/create`, { method: 'POST', body: JSON.stringify({ text: 'x'.repeat(600) }) }),
})
