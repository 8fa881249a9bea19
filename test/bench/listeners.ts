import type { Process } from './processes.ts'

/** Sockets that hear what is written, and when each of them heard it. */
export interface Listeners {
  /** Resolves when every socket has had `n` more messages; returns when each message came, in ms. */
  next(n: number): Promise<number[]>
  close(): void
}

/** A credential of the hub, and what it subscribes to. */
export interface Ear {
  token: string
  topic: string
}

/** A credential may have as many sockets as this at once. */
export const EACH = 20
const AT_ONCE = 100

/** Opens `count` sockets: with `ears` at the hub, each subscribed, else at a peer that sends everything to all. */
export async function listen(url: string, count: number, ears?: readonly Ear[]): Promise<Listeners> {
  const sockets: WebSocket[] = []
  /** What came since `next` was called. While nobody waits, listening must cost as little as possible. */
  let heard: number[] | undefined
  let tell = () => {}
  const open = (i: number) =>
    new Promise<void>((resolve, reject) => {
      const ear = ears?.[Math.floor(i / EACH)]
      const socket = new WebSocket(url, { headers: ear ? { authorization: `Bearer ${ear.token}` } : {} })
      let counts = ear === undefined
      socket.onerror = () => reject(new Error(`socket ${i} was refused`))
      socket.onopen = () => {
        if (ear) socket.send(JSON.stringify({ op: 'subscribe', topics: [ear.topic] }))
        else resolve()
      }
      socket.onmessage = ({ data }) => {
        if (counts) {
          if (!heard) return
          // What has an `op` is about the connection, and no event.
          if (ear && String(data).startsWith('{"op":')) return
          heard.push(performance.now())
          tell()
        } else if (String(data).includes('"op":"subscribed"')) {
          counts = true
          resolve()
        }
      }
      sockets.push(socket)
    })
  for (let i = 0; i < count; i += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, j) => open(i + j)))
  return {
    next: (n) => {
      const since: number[] = []
      heard = since
      return new Promise((resolve) => {
        tell = () => {
          if (since.length < n * count) return
          heard = undefined
          resolve(since)
        }
      })
    },
    close: () => {
      for (const socket of sockets) socket.terminate()
    },
  }
}

export const socketUrl = ({ url }: Process, path: string): string => url.replace('http', 'ws') + path

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] as number
