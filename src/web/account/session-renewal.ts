/**
 * Renews the session, one tab at a time: a refresh token works once, and once more for a request at the same moment.
 * Browsers have locks only on HTTPS and localhost; elsewhere tabs take turns by a note in their shared storage.
 */
const NOTE = 'tutti renewal'
/** How long a tab waits for another one that renews, before it assumes that the other tab was closed. */
const PATIENCE = 10_000
/** Time in which two tabs that begin at once see each other's note. */
const SETTLE = 40

interface Note {
  by: string
  at: number
  done: boolean
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const readNote = (): Note | undefined => {
  try {
    return JSON.parse(localStorage.getItem(NOTE) ?? '') as Note
  } catch {
    return undefined
  }
}
const writeNote = (next: Note): void => localStorage.setItem(NOTE, JSON.stringify(next))

/** Returns false if the session has ended. Throws if the server is busy or unreachable. */
async function refresh(): Promise<boolean> {
  const answer = await fetch('/api/auth/refresh', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  if (answer.status === 429 || answer.status >= 500) throw new Error(`The session was not renewed: ${answer.status}`)
  return answer.ok
}

let renewing: Promise<boolean> | undefined

/** Renews the session once for all waiting requests. Returns false if it has ended. */
export function renewSession(sentAt: number): Promise<boolean> {
  renewing ??= (
    navigator.locks ? navigator.locks.request('tutti refresh', () => refreshUnlessDone(sentAt)) : refreshInTurn(sentAt)
  ).finally(() => {
    renewing = undefined
  })
  return renewing
}

/** Another tab may have renewed the session since the request was sent; all tabs share the cookies. */
const isDoneSince = (sentAt: number): boolean => {
  const last = readNote()
  return last !== undefined && last.done && last.at >= sentAt
}

async function refreshUnlessDone(
  sentAt: number,
  by = crypto.getRandomValues(new Uint32Array(2)).join('-'),
): Promise<boolean> {
  if (isDoneSince(sentAt)) return true
  let isRenewed = false
  try {
    isRenewed = await refresh()
    return isRenewed
  } finally {
    writeNote({ by, at: isRenewed ? Date.now() : 0, done: true })
  }
}

async function refreshInTurn(sentAt: number): Promise<boolean> {
  const by = crypto.getRandomValues(new Uint32Array(2)).join('-')
  for (;;) {
    const last = readNote()
    if (!last || last.done || Date.now() - last.at > PATIENCE) {
      if (isDoneSince(sentAt)) return true
      writeNote({ by, at: Date.now(), done: false })
    }
    await pause(SETTLE)
    if (readNote()?.by === by) return refreshUnlessDone(sentAt, by)
  }
}
