import { json } from '../support/binary.ts'

/** Writes through a proxy, each with a name of its own and a key under which it may be repeated. */
export interface Load {
  /** Titles of the notes whose creation was confirmed. */
  readonly confirmed: string[]
  /** Requests that failed: statuses, or the reason. */
  readonly failures: string[]
  /** The longest time without a confirmation so far, in milliseconds. */
  readonly pause: number
  /** Resolves when so many more were confirmed. */
  until(count: number): Promise<void>
  stop(): Promise<void>
}

interface LoadOptions {
  writers?: number
  /** Repeats a request that failed until it is confirmed, as clients do. Default: true. */
  repeat?: boolean
}

let round = 0

export function writeThrough(url: string, key: string, { writers = 6, repeat = true }: LoadOptions = {}): Load {
  const confirmed: string[] = []
  const failures: string[] = []
  const waiting: { count: number; go: () => void }[] = []
  const number = ++round
  let pause = 0
  let last = performance.now()
  let isRunning = true
  const tell = () => {
    for (const one of waiting.filter(({ count }) => confirmed.length >= count)) {
      waiting.splice(waiting.indexOf(one), 1)
      one.go()
    }
  }
  const send = async (title: string): Promise<boolean> => {
    const { headers, ...request } = json('POST', { title, content: 'x'.repeat(300) }, key)
    const response = await fetch(`${url}/api/notes`, {
      ...request,
      headers: { ...(headers as Record<string, string>), 'idempotency-key': title },
      signal: AbortSignal.timeout(60_000),
    }).catch((error: unknown) => String((error as { code?: unknown }).code ?? error))
    if (typeof response !== 'string') await response.text().catch(() => undefined)
    const status = typeof response === 'string' ? response : response.status
    if (status === 201) return true
    if (typeof status === 'number' && status < 500) throw new Error(`a write was refused with ${status}`)
    failures.push(String(status))
    return false
  }
  const write = async (writer: number) => {
    for (let n = 0; isRunning; n++) {
      const title = `note-${number}-${writer}-${n}`
      let isConfirmed = await send(title)
      // At once the first time, when the earlier attempt may still be open; less often while no instance answers.
      for (let wait = 50; !isConfirmed && repeat && isRunning; wait = 200) {
        await Bun.sleep(wait)
        isConfirmed = await send(title)
      }
      if (isConfirmed) {
        confirmed.push(title)
        pause = Math.max(pause, performance.now() - last)
        last = performance.now()
      }
      tell()
    }
  }
  const done = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))
  const refused = done.then(() => new Promise<never>(() => undefined))
  return {
    confirmed,
    failures,
    get pause() {
      return pause
    },
    until: (count) => {
      const reached = new Promise<void>((go) => {
        waiting.push({ count: confirmed.length + count, go })
        tell()
      })
      return Promise.race([reached, refused])
    },
    stop: async () => {
      isRunning = false
      await done
    },
  }
}

/** Returns the titles of all notes. */
async function titlesOf(url: string, key: string): Promise<string[]> {
  const titles: string[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const response = await fetch(`${url}/api/notes?limit=200${query}`, { headers: { authorization: `Bearer ${key}` } })
    const page = (await response.json()) as { items: { title: string }[]; nextCursor: string | null }
    titles.push(...page.items.map(({ title }) => title))
    cursor = page.nextCursor
  } while (cursor)
  return titles
}

/** Returns which of the confirmed notes are missing, and which notes there are twice. */
export async function lostAndDoubled(url: string, key: string, confirmed: readonly string[]) {
  const titles = await titlesOf(url, key)
  const known = new Set<string>()
  const doubled = titles.filter((title) => known.size === known.add(title).size)
  return { lost: confirmed.filter((title) => !known.has(title)), doubled }
}
