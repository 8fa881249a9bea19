/** Prints the statements, with their values, that the tool get_task runs. */
import { contextOf } from '../../src/action.ts'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/db/index.ts'
import * as tasks from '../../src/features/tasks/service.ts'
import { createLog } from '../../src/log.ts'

const [userId = '', taskId = ''] = process.argv.slice(2)
const config = loadConfig()
const log = createLog('error')
const driver = await openDatabase(config, log)
const app = await createApp(config, { driver, background: false, log })
const ctx = contextOf(app, await app.auth.actorFor(userId))
const { query } = driver
const seen: unknown[] = []
driver.query = (text, params = [], options) => {
  seen.push({ text, params })
  return query.call(driver, text, params, options)
}
await tasks.getDetail(ctx, { ref: taskId })
console.log(JSON.stringify(seen))
await app.close()
process.exit(0)
