import { person, sharedApp } from '../support/app.ts'
import { openSocket, wireRequest } from './socket.ts'

/** Slow clients. They start early, because the server disconnects them after 30 seconds; slow.test.ts checks them. */
export interface SlowClient {
  name: string
  /** Seconds until the server hung up, or why it should have. */
  ended: Promise<number | 'still open'>
}

let started: Promise<SlowClient[]> | undefined
export const slowClients = (): Promise<SlowClient[]> => {
  started ??= start()
  return started
}

const PATIENCE = 100

async function start(): Promise<SlowClient[]> {
  const t = await sharedApp()
  const { token } = await person(t)
  const json = [`Authorization: Bearer ${token}`, 'Content-Type: application/json']
  const dribble = async (name: string, first: string, piece: string): Promise<SlowClient> => {
    const socket = await openSocket(t)
    socket.resume()
    socket.write(first)
    const begun = performance.now()
    const timer = setInterval(() => socket.write(piece), 500)
    const ended = new Promise<number | 'still open'>((resolve) => {
      const giveUp = setTimeout(() => {
        resolve('still open')
        socket.destroy()
      }, PATIENCE * 1000)
      giveUp.unref()
      socket.once('close', () => {
        clearTimeout(giveUp)
        resolve(Math.round((performance.now() - begun) / 1000))
      })
    }).finally(() => clearInterval(timer))
    timer.unref()
    return { name, ended }
  }
  return Promise.all([
    dribble('says nothing', '', ''),
    dribble('sends a header letter by letter', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'a'),
    dribble('sends one header after the other', 'GET /health HTTP/1.1\r\nHost: localhost\r\n', 'X-Slow: a\r\n'),
    dribble(
      'sends a body letter by letter',
      wireRequest(t, 'POST /api/notes', [...json, 'Content-Length: 1000'], '{"title":"'),
      'a',
    ),
    dribble(
      'sends a body in tiny chunks',
      wireRequest(t, 'POST /api/notes', [...json, 'Transfer-Encoding: chunked']),
      '1\r\na\r\n',
    ),
    dribble(
      'stops in the middle of a body',
      wireRequest(t, 'POST /api/notes', [...json, 'Content-Length: 1000'], '{"title"'),
      '',
    ),
  ])
}
