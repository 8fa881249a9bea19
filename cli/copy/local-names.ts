import type { Copy } from './copy.ts'

/** The project has no key either if it was created without the server: `~-~3f2a`. */
const localName = /^(~|[a-z][a-z\d]*)-~[\da-f]{4,}$/i

/** Fields of requests that take references to tasks. */
const references = new Set(['task', 'tasks', 'parent', 'parentId', 'blockedBy'])

/** Replaces names such as MY-~3f2a, which only this device knows, by the ids of the records. */
export function withIds(copy: Copy, path: string, body?: object): [path: string, body?: object] {
  const idOf = (name: string): string =>
    copy.one<{ id: string }>('select id from names where name = ?', name.toLowerCase())?.id ?? name
  const known = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(known) : typeof value === 'string' && localName.test(value) ? idOf(value) : value
  const parts = path.split('/').map((part) => {
    const name = part.split('?')[0] as string
    const decoded = decodeURIComponent(name)
    return localName.test(decoded) ? idOf(decoded) + part.slice(name.length) : part
  })
  if (!body) return [parts.join('/')]
  const changed = Object.entries(body).map(([name, value]) => [name, references.has(name) ? known(value) : value])
  return [parts.join('/'), Object.fromEntries(changed) as object]
}
