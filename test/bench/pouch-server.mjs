// A peer of sync: PouchDB behind express-pouchdb, filled with as many documents like our notes. Arguments: the folder
// with the packages, a folder for the data, and the number of documents.
import { createRequire } from 'node:module'

const [modules, data, count] = process.argv.slice(2)
const require = createRequire(`${modules}/`)
const PouchDB = require('pouchdb').defaults({ prefix: `${data}/` })
const app = require('express')()
app.use(
  '/',
  require('express-pouchdb')(PouchDB, { mode: 'minimumForPouchDB', inMemoryConfig: true, logPath: `${data}/log` }),
)
const db = new PouchDB('notes')
for (let from = 0; from < Number(count); from += 500)
  await db.bulkDocs(
    Array.from({ length: 500 }, (_, i) => ({
      _id: crypto.randomUUID(),
      title: `Note ${from + i}`,
      content: 'lorem ipsum '.repeat(40),
      tags: ['bench'],
      scope: 'team',
      createdAt: new Date().toISOString(),
      updatedAt: new Date().toISOString(),
      createdById: crypto.randomUUID(),
      organizationId: crypto.randomUUID(),
    })),
  )
const server = app.listen(0, '127.0.0.1', () => console.log(` is at http://127.0.0.1:${server.address().port}`))
