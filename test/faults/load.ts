import { json, type Served } from '../support/binary.ts'

/** Soak takes the full counts; the ordinary run a short round of each. */
export const rounds = (short: number, full: number): number => (process.env.SOAK ? full : short)

/** Writers that keep posting notes until told to stop or cut off; every answered one is remembered. */
export interface Load {
  acked: string[]
  statuses: Map<number, number>
  /** Resolves once this many more writes were answered. */
  until(count: number): Promise<void>
  stop(): Promise<void>
}

export function writeLoad(server: Served, key: string, writers = 8): Load {
  const acked: string[] = []
  const statuses = new Map<number, number>()
  const waiting: { count: number; go: () => void }[] = []
  let running = true
  const write = async (n: number) => {
    for (let i = 0; running; i++) {
      try {
        const response = await fetch(
          `${server.url}/api/notes`,
          json('POST', { title: `note ${n}.${i}`, content: 'x'.repeat(200 + ((i * 37) % 2000)) }, key),
        )
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        const body = (await response.json()) as { id: string }
        if (response.status === 201) acked.push(body.id)
        else await Bun.sleep(20)
      } catch {
        // The server is gone, in the middle of this request or before it: not acknowledged.
        if (!running) return
        await Bun.sleep(5)
      }
      for (const w of [...waiting]) {
        if (acked.length < w.count) continue
        waiting.splice(waiting.indexOf(w), 1)
        w.go()
      }
    }
  }
  const done = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))
  return {
    acked,
    statuses,
    until: (count) => new Promise((go) => waiting.push({ count: acked.length + count, go })),
    stop: async () => {
      running = false
      await done
    },
  }
}

/** Those of the acknowledged notes that the server does not show. */
export async function missing(server: Served, key: string, acked: readonly string[]): Promise<string[]> {
  const there = new Set<string>()
  let cursor: string | null = ''
  while (cursor !== null) {
    const response = await fetch(`${server.url}/api/notes?limit=200${cursor && `&cursor=${cursor}`}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    if (response.status !== 200) throw new Error(`list answered ${response.status}: ${await response.text()}`)
    const page = (await response.json()) as { items: { id: string }[]; nextCursor: string | null }
    for (const { id } of page.items) there.add(id)
    cursor = page.nextCursor
  }
  return acked.filter((id) => !there.has(id))
}
