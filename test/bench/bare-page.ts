import { readFileSync } from 'node:fs'

/** `bun bare-page.ts FILE HEADERS`: a server that answers everything with the bytes of a file, and nothing else. */
const [, , path = '', headers = '{}'] = process.argv
const body = readFileSync(path, 'utf8')
const known = JSON.parse(headers) as Record<string, string>
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(body, { headers: known }) })
console.log(`The page is at ${server.url.origin}`)
