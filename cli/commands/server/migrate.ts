import { migrations } from '../../../migrations/index.ts'
import { createApp } from '../../../src/app.ts'
import { findRunningServer } from '../../../src/control/client.ts'
import { hasDatabase, openDatabase } from '../../../src/db/index.ts'
import { planFromApplied, planMigrations } from '../../../src/db/migrate.ts'
import { createLog } from '../../../src/log.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printResult } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  dryRun?: boolean
  json?: boolean
}

/** Applies pending migrations, or lists them. Asks a running server, whose files no other process may open. */
export async function runMigrations({ dryRun, json, ...common }: Options): Promise<void> {
  const config = loadSettings(common)
  const report = (applied: string[], pending: { id: string }[], done: { id: string }[] = []) => {
    const ids = (list: { id: string }[]) => list.map(({ id }) => id)
    const line =
      done.length > 0
        ? `Applied: ${ids(done).join(', ')}`
        : pending.length > 0
          ? `Pending: ${ids(pending).join(', ')}`
          : `Up to date (${applied.at(-1)}).`
    printResult(json, { applied: [...applied, ...ids(done)], pending: ids(pending), done: ids(done) }, line)
  }

  const server = await findRunningServer(config)
  if (server) {
    const { applied, pending } = planFromApplied(
      (server.applied ?? []).map((id) => ({ id })),
      migrations,
    )
    if (pending.length > 0 && !dryRun)
      throw new Refusal(
        `Tutti ${server.version ?? '(an older version)'} is running on this database. ` +
          `Stop it first, or start ${process.execPath} in its place, which applies migrations by itself.`,
        5,
      )
    return report(applied, pending)
  }
  // A dry run does not create a database.
  if (dryRun && !hasDatabase(config)) return report([], migrations.slice())
  const log = createLog('warn')
  const driver = await openDatabase(config, log)
  const { applied, pending } = await planMigrations(driver, migrations).catch(async (error: unknown) => {
    await driver.close()
    throw error
  })
  if (dryRun || pending.length === 0) {
    await driver.close()
    return report(applied, pending)
  }
  await (await createApp(config, { driver, background: false, log })).close()
  report(applied, [], pending)
}
