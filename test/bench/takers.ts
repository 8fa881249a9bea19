import { EACH, type Ear } from './listeners.ts'
import type { Process } from './processes.ts'

/** Sockets that take what the hub sends and look at none of it, so that they cost hardly more than their reads. */
export interface Takers {
  /** Resolves when nothing more has come for a while. */
  settled(): Promise<void>
  close(): void
}

const QUIET_MS = 500
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

/** Returns a text frame of a client. Its mask is zero, so it contains the text as it is. */
function frameOf(text: string): Uint8Array {
  const body = new TextEncoder().encode(text)
  if (body.length > 125) throw new Error('a frame of this kind has at most 125 bytes')
  return Uint8Array.from([0x81, 0x80 | body.length, 0, 0, 0, 0, ...body])
}

/** Opens `count` sockets at the hub by plain TCP, each subscribed. They answer no ping, so they live for 40 seconds. */
export async function take({ url }: Process, count: number, ears: readonly Ear[]): Promise<Takers> {
  const { hostname, port, host } = new URL(url)
  const sockets: { terminate(): void }[] = []
  let bytes = 0
  const open = async (ear: Ear) => {
    const subscribed = Promise.withResolvers<void>()
    const decoder = new TextDecoder()
    /** What came before it was subscribed. */
    let begun: string | undefined = ''
    const head = [
      'GET /api/ws HTTP/1.1',
      `Host: ${host}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${KEY}`,
      'Sec-WebSocket-Version: 13',
      `Authorization: Bearer ${ear.token}`,
    ]
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data(socket, chunk) {
          if (begun === undefined) {
            bytes += chunk.byteLength
            return
          }
          const isFirst = begun === ''
          begun += decoder.decode(chunk, { stream: true })
          if (isFirst) socket.write(frameOf(JSON.stringify({ op: 'subscribe', topics: [ear.topic] })))
          if (!begun.includes('"op":"subscribed"')) return
          begun = undefined
          subscribed.resolve()
        },
        close: () => subscribed.reject(new Error('a socket was refused')),
      },
    })
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    sockets.push(socket)
    await subscribed.promise
  }
  for (let i = 0; i < count; i += EACH)
    await Promise.all(Array.from({ length: Math.min(EACH, count - i) }, () => open(ears[Math.floor(i / EACH)] as Ear)))
  return {
    settled: async () => {
      for (let before = -1; before !== bytes; ) {
        before = bytes
        await Bun.sleep(QUIET_MS)
      }
    },
    close: () => {
      for (const socket of sockets) socket.terminate()
    },
  }
}
