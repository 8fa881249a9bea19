import { migrations } from '../../migrations/index.ts'
import { createApp } from '../../src/app.ts'
import { runningServer } from '../../src/control/client.ts'
import { hasDatabase, openDatabase } from '../../src/db/index.ts'
import { planFrom, planMigrations } from '../../src/db/migrate.ts'
import { createLog } from '../../src/log.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'
import { print } from '../terminal/output.ts'
import { Refusal } from '../terminal/report.ts'

interface Options extends CommonOptions {
  dryRun?: boolean
  json?: boolean
}

/** What a running server says counts; its files are not opened beside it. */
export async function migrate({ dryRun, json, ...common }: Options): Promise<void> {
  const config = settingsOf(common)
  const told = (applied: string[], pending: { id: string }[], done: { id: string }[] = []) => {
    const ids = (list: { id: string }[]) => list.map(({ id }) => id)
    const line =
      done.length > 0
        ? `Applied: ${ids(done).join(', ')}`
        : pending.length > 0
          ? `To apply: ${ids(pending).join(', ')}`
          : `Up to date (${applied.at(-1)}).`
    print(json, { applied: [...applied, ...ids(done)], pending: ids(pending), done: ids(done) }, line)
  }

  const server = await runningServer(config)
  if (server) {
    const { applied, pending } = planFrom(server.applied ?? [], migrations)
    if (pending.length > 0 && !dryRun)
      throw new Refusal(
        `Tutti ${server.version ?? '(an older version)'} is running on this database. Stop it first; or start ${process.execPath} in its place, which does this by itself.`,
        5,
      )
    return told(applied, pending)
  }
  // Looking does not make one.
  if (dryRun && !hasDatabase(config)) return told([], migrations.slice())
  const log = createLog('warn')
  const driver = await openDatabase(config, log)
  const { applied, pending } = await planMigrations(driver, migrations).catch(async (error: unknown) => {
    await driver.close()
    throw error
  })
  if (dryRun || pending.length === 0) {
    await driver.close()
    return told(applied, pending)
  }
  await (await createApp(config, { driver, background: false, log })).close()
  told(applied, [], pending)
}
