import { connect, type Socket } from 'node:net'
import { type Process, rssMb } from './processes.ts'

/** A token may have ten at once. */
const EACH = 10

/** A bare socket: `fetch` keeps to 256 connections. */
async function open(base: string, token: string, tool: object): Promise<Socket> {
  const { hostname, port, host } = new URL(base)
  const socket = connect(Number(port), hostname)
  let text = ''
  let wake = () => {}
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    wake()
  })
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(text)
      if (found) return found[1] as string
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  socket.write(
    `GET /mcp/sse HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
  )
  const path = await until(/data: (\S+)/)
  const send = async (message: object) => {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
    if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`)
  }
  await send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'b', version: '1' } },
  })
  await until(/("id":1)/)
  await send({ method: 'notifications/initialized' })
  await send({ id: 2, method: 'tools/call', params: tool })
  await until(/("id":2)/)
  return socket
}

/** What an open stream costs: 500 of them, shaken hands with and one call made on each, as the growth of the server's memory. */
export async function streamCost(
  server: Process,
  tokens: readonly string[],
  tool: object,
): Promise<{ kb: number; streams: number; leftMb: number }> {
  const sockets: Socket[] = []
  const close = async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await Bun.sleep(2000)
  }
  // A server that has just started loads code, fills caches and makes room for requests, which is not what a stream costs.
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < EACH * 5; i++) sockets.push(await open(server.url, tokens[i % 5] as string, tool))
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  await close()
  const before = rssMb(server.pid)
  for (const token of tokens) for (let i = 0; i < EACH; i++) sockets.push(await open(server.url, token, tool))
  await Bun.sleep(2000)
  const streams = sockets.length
  const kb = ((rssMb(server.pid) - before) * 1024) / streams
  await close()
  return { kb, streams, leftMb: rssMb(server.pid) - before }
}
