// A first sync with PouchDB: copies a database, and prints how long that took. Arguments: the folder with the packages,
// the address of the server, and a folder for the copy.
import { createRequire } from 'node:module'

const [modules, url, data] = process.argv.slice(2)
const PouchDB = createRequire(`${modules}/`)('pouchdb').defaults({ prefix: `${data}/` })
const copy = new PouchDB('copy')
await copy.info()
const from = performance.now()
const before = process.cpuUsage()
const { docs_written } = await copy.replicate.from(`${url}/notes`, { batch_size: 500 })
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ ms: performance.now() - from, cpuMs: (user + system) / 1000, docs: docs_written }))
process.exit(0)
