/**
 * What checking a credential costs: the same read through the whole HTTP layer, with the check and with a check that knows the answer.
 * Prints CPU microseconds a request for both. Warm: the cache holds for a second.
 */
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { buildHttp } from '../../src/server/server.ts'

const [token = '', noteId = '', count = '4000'] = process.argv.slice(2)
const app = await createApp(loadConfig(), { background: false, log: createLog('error') })
const { server } = buildHttp(app)
const actor = await app.auth.authenticate(token)
const known = { authenticate: async () => actor }
const real = { authenticate: app.auth.authenticate.bind(app.auth) }

async function micros(check: typeof known | typeof real, requests: number): Promise<number> {
  Object.assign(app.auth, check)
  const before = process.cpuUsage()
  for (let done = 0; done < requests; done += 16)
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        const response = await server.handle(
          new Request(`http://localhost/api/notes/${noteId}`, {
            headers: { host: 'localhost', authorization: `Bearer ${token}` },
          }),
        )
        if (!response.ok) throw new Error(await response.text())
        await response.text()
      }),
    )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
}

const found: { with: number[]; without: number[] } = { with: [], without: [] }
for (const check of [real, known]) await micros(check, 1000)
for (let round = 0; round < 7; round++) {
  found.without.push(await micros(known, Number(count)))
  found.with.push(await micros(real, Number(count)))
}
await app.close()
console.log(JSON.stringify(found))
process.exit(0)
