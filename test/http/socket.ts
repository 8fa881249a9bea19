import { connect, type Socket } from 'node:net'
import type { TestApp } from '../support/app.ts'

/** HTTP as bytes on a socket, for what `fetch` refuses to send. */
export interface RawAnswer {
  status: number
  headers: Headers
  body: string
}

interface Options {
  /** Stop after so many; fewer when the server closes first. */
  answers?: number
  /** The answer to HEAD announces a length but has no body. */
  head?: boolean
  timeout?: number
}

export const portOf = (t: TestApp): number => t.server.port

export async function sendRaw(
  t: TestApp,
  payload: string | Uint8Array,
  { answers = 1, head = false, timeout = 60_000 }: Options = {},
): Promise<RawAnswer[]> {
  const socket = await openSocket(t)
  try {
    socket.write(payload)
    return await readResponses(socket, { answers, head, timeout })
  } finally {
    socket.destroy()
  }
}

export async function openSocket(t: TestApp): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: portOf(t) })
  // A server that cuts a connection may reset it; that is an end like any other here.
  socket.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

export function readResponses(
  socket: Socket,
  { answers = 1, head = false, timeout = 60_000 }: Options = {},
): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    let buffer = Buffer.alloc(0)
    const found: RawAnswer[] = []
    const timer = setTimeout(
      () =>
        reject(
          new Error(
            `no answer within ${timeout} ms; so far: ${JSON.stringify(buffer.toString('latin1').slice(0, 300))}`,
          ),
        ),
      timeout,
    )
    const done = () => {
      clearTimeout(timer)
      resolve(found)
    }
    socket.on('data', (chunk: Buffer) => {
      buffer = Buffer.concat([buffer, chunk])
      for (let next = parse(buffer, head); next; next = parse(buffer, head)) {
        // 100 Continue only says that the real one follows.
        if (next.answer.status !== 100) found.push(next.answer)
        buffer = buffer.subarray(next.length)
        if (found.length === answers) return done()
      }
    })
    socket.once('close', done)
  })
}

function parse(buffer: Buffer, head: boolean): { answer: RawAnswer; length: number } | undefined {
  const end = buffer.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = buffer.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Headers(
    lines.map(
      (line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as [string, string],
    ),
  )
  const size = head ? 0 : Number(headers.get('content-length') ?? 0)
  if (buffer.length < end + 4 + size) return undefined
  const status = Number(first.split(' ')[1])
  return {
    answer: { status, headers, body: buffer.subarray(end + 4, end + 4 + size).toString() },
    length: end + 4 + size,
  }
}

/** A request in wire form; by default with the right Host. */
export const wireRequest = (t: TestApp, line: string, headers: string[] = [], body = ''): string =>
  [
    `${line} HTTP/1.1`,
    ...(headers.some((h) => /^host\s*:/i.test(h)) ? [] : [`Host: 127.0.0.1:${portOf(t)}`]),
    ...headers,
    '',
    body,
  ].join('\r\n')
