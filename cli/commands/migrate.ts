import { migrations } from '../../migrations/index.ts'
import { createApp } from '../../src/app.ts'
import { openDatabase } from '../../src/db/index.ts'
import { planMigrations } from '../../src/db/migrate.ts'
import { createLog } from '../../src/log.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export async function migrate({ dryRun, ...common }: CommonOptions & { dryRun?: boolean }): Promise<void> {
  const config = settingsOf(common)
  const log = createLog('warn')
  const driver = await openDatabase(config, log)
  const { applied, pending } = await planMigrations(driver, migrations).catch(async (error: unknown) => {
    await driver.close()
    throw error
  })
  if (dryRun || pending.length === 0) {
    await driver.close()
    console.log(pending.length === 0 ? `Up to date (${applied.at(-1)}).` : `Would apply: ${pending.map((m) => m.id).join(', ')}`)
    return
  }
  const app = await createApp(config, { driver, background: false, log })
  await app.close()
  console.log(`Applied: ${pending.map((m) => m.id).join(', ')}`)
}
