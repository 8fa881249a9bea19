/** Calls routes as Eden's `treaty` does, in a tenth of its size: `api.tasks({ id }).patch(body, { headers })`. */
import type { treaty } from '@elysiajs/eden'

interface Options {
  query?: Record<string, unknown>
  headers?: Record<string, string>
  fetch?: RequestInit
}
type Send = (path: string, init: RequestInit) => Promise<Response>

const methods = new Set(['get', 'post', 'put', 'patch', 'delete'])

/** Each property adds a part to the path, and so does a call with an object; the call of a method sends the request. */
export function createRouteClient<R extends Parameters<typeof treaty>[0] & object>(
  send: Send,
  path: readonly string[] = [],
) {
  const client: unknown = new Proxy(() => undefined, {
    get: (_, part: string) => createRouteClient(send, [...path, part]),
    apply: (_, __, [first, second]: [unknown, Options | undefined]) => {
      const method = path.at(-1) as string
      if (!methods.has(method)) return createRouteClient(send, [...path, String(Object.values(first as object)[0])])
      const address = `/${path.slice(0, -1).join('/')}`
      return method === 'get'
        ? call(send, method, address, first as Options)
        : call(send, method, address, second, first)
    },
  })
  return client as ReturnType<typeof treaty<R>>
}

async function call(send: Send, method: string, address: string, options: Options = {}, body?: unknown) {
  const init: RequestInit = { method: method.toUpperCase(), headers: { ...options.headers }, ...options.fetch }
  if (body !== undefined && body !== null) {
    init.headers = { ...options.headers, 'content-type': 'application/json' }
    init.body = JSON.stringify(body)
  }
  try {
    const response = await send(address + queryOf(options.query), init)
    const text = await response.text()
    const value: unknown = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
    const { status } = response
    return response.ok
      ? { data: value, error: null, response, status }
      : { data: null, error: { status, value }, response, status }
  } catch (error) {
    return { data: null, error, status: 0 }
  }
}

function queryOf(query: Options['query']): string {
  const params = new URLSearchParams()
  for (const [name, given] of Object.entries(query ?? {}))
    for (const value of Array.isArray(given) ? given : [given])
      if (value !== undefined && value !== null) params.append(name, String(value))
  return params.size > 0 ? `?${params}` : ''
}
