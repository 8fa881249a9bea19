import { statfs } from 'node:fs/promises'
import { eq, sql } from 'drizzle-orm'
import { read } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { version } from '../../version.ts'
import { mails } from '../mail/table.ts'
import type { SystemState } from './schema.ts'

export const systemState = read('admin.system', admin, async (ctx, _: Record<string, never>): Promise<SystemState> => {
  const { app, db } = ctx
  const { ok, readOnly, version: database, detail } = app.driver.status()
  const size = await db.execute<{ bytes: string }>(sql`select pg_database_size(current_database())::text as bytes`)
  const disk = await statfs(app.config.DATA_DIR)
  const uptime = Math.floor(process.uptime())
  return {
    version,
    startedAt: new Date(Date.now() - uptime * 1000).toISOString(),
    uptimeSeconds: uptime,
    database: {
      kind: app.driver.kind,
      version: database,
      ok,
      readOnly: readOnly !== undefined,
      bytes: Number(size.rows[0]?.bytes),
      detail,
    },
    disk: { freeBytes: disk.bavail * disk.bsize, totalBytes: disk.blocks * disk.bsize },
    jobs: await app.jobs.status(),
    mail: {
      mode: app.config.SMTP_URL ? 'smtp' : 'outbox',
      waiting: await db.$count(mails, eq(mails.status, 'queued')),
      failed: await db.$count(mails, eq(mails.status, 'failed')),
    },
    connections: { mcpStreams: app.gauges.mcpStreams?.() ?? 0, http: app.gauges.http?.() ?? 0 },
    memory: { residentBytes: process.memoryUsage.rss() },
  }
})
