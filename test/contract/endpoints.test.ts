import { expect, test } from 'bun:test'
import { sharedApp } from '../support/app.ts'

test('all 216 endpoints of the specification are routes of the server', async () => {
  const { server, url } = await sharedApp()
  const known = new Set(server.routes.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ':')}`))
  const rows = (await Bun.file(`${import.meta.dir}/endpoints.tsv`).text())
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t').slice(0, 2).join(' '))
  expect([rows.length, new Set(rows).size]).toEqual([216, 216])
  const absent = rows.filter((row) => !known.has(row.replace(/:\w+/g, ':')))
  expect(absent).toEqual([])
  expect((await fetch(`${url}/health`)).status).toBe(200)
})
