import type { Elysia } from 'elysia'
import type { App } from '../services.ts'
import { version } from '../version.ts'
import { headers } from './headers.ts'

export function addHealth(server: Elysia, app: App): void {
  const health = () => healthOf(app)
  server
    .get('/health', health)
    .get('/health/live', () => ({ status: 'ok' }))
    .get('/health/ready', health)
}

async function healthOf({ driver }: App): Promise<Response> {
  const started = performance.now()
  const alive = await driver.query('select 1').then(
    () => true,
    () => false,
  )
  const { version: database, readOnly } = driver.status()
  const body = {
    status: !alive ? 'down' : readOnly ? 'read_only' : 'ok',
    version,
    database: {
      kind: driver.kind,
      version: database,
      ok: alive,
      ...(readOnly && { readOnly }),
      pingMs: Math.round((performance.now() - started) * 10) / 10,
    },
  }
  return Response.json(body, {
    status: alive ? 200 : 503,
    headers: alive ? headers : { ...headers, 'retry-after': '1' },
  })
}
