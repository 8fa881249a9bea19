interface Answer {
  result?: { isError?: boolean }
  error?: unknown
}

export interface Connection {
  call(method: string, params: object): Promise<void>
  close(): Promise<void>
}

/** One SSE stream, opened and shaken hands with, as raw as a client can be, so that the server is what is measured. */
export async function connect(base: string, token: string | undefined): Promise<Connection> {
  const auth: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
  const stream = await fetch(`${base}/mcp/sse`, { headers: { ...auth, accept: 'text/event-stream' } })
  if (stream.status !== 200 || !stream.body) throw new Error(`stream answered ${stream.status}: ${await stream.text()}`)
  const pending = new Map<number, (message: Answer) => void>()
  const endpoint = Promise.withResolvers<string>()
  const reader = stream.body.getReader()
  const reading = (async () => {
    const decoder = new TextDecoder()
    let buffer = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      buffer += decoder.decode(value, { stream: true })
      let end = buffer.indexOf('\n\n')
      while (end >= 0) {
        const block = buffer.slice(0, end)
        buffer = buffer.slice(end + 2)
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data && block.includes('event: endpoint')) endpoint.resolve(data)
        else if (data) {
          const message = JSON.parse(data) as Answer & { id: number }
          pending.get(message.id)?.(message)
          pending.delete(message.id)
        }
        end = buffer.indexOf('\n\n')
      }
    }
  })()
  const url = base + (await endpoint.promise)
  let next = 0
  const send = (method: string, params: object, id?: number) =>
    fetch(url, {
      method: 'POST',
      headers: { ...auth, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', method, params, ...(id !== undefined && { id }) }),
    })
  const call = async (method: string, params: object) => {
    const id = next++
    const answered = new Promise<Answer>((go) => pending.set(id, go))
    const response = await send(method, params, id)
    await response.arrayBuffer()
    const message = await answered
    if (message.error || message.result?.isError) throw new Error(JSON.stringify(message))
  }
  await call('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  await (await send('notifications/initialized', {})).arrayBuffer()
  return {
    call,
    async close() {
      await reader.cancel()
      await reading.catch(() => undefined)
    },
  }
}

/** Drives `tools/call` over one stream with 16 calls in flight until that time, and returns how many were made. */
export async function sseCalls(base: string, token: string | undefined, tool: object, until: number): Promise<number> {
  const connection = await connect(base, token)
  const calls = await repeat(until, () => connection.call('tools/call', tool))
  await connection.close()
  return calls
}

/** Drives GET requests, 16 at once, until that time, and returns how many were made. */
export const restReads = (url: string, token: string, until: number): Promise<number> =>
  repeat(until, async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    if (!response.ok) throw new Error(await response.text())
    await response.arrayBuffer()
  })

async function repeat(until: number, work: () => Promise<void>): Promise<number> {
  let done = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (performance.now() < until) {
        await work()
        done++
      }
    }),
  )
  return done
}
