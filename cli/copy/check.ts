import type { Copy } from './copy.ts'
import type { Page } from './pages.ts'

/** Returns the containers whose records differ from what the server counted. */
export const differing = (copy: Copy, check: Page['check']): string[] =>
  (check ?? [])
    .filter(({ container, count, sum }) => {
      const mine = countOf(copy, container)
      return mine.count !== count || mine.sum !== sum
    })
    .map(({ container }) => container)

/** Counts the records of a container, and sums the first 32 bits of the hash of each id and version. */
export function countOf(copy: Copy, container: string): { count: number; sum: number } {
  const held = copy.all<{ id: string; version: number }>(
    'select id, version from records where (container = ?1 or container2 = ?1) and shadow is not null',
    container,
  )
  const sum = held.reduce((sum, { id, version }) => sum + firstBits(`${id}:${version}`), 0)
  return { count: held.length, sum }
}

const firstBits = (text: string): number => new Bun.CryptoHasher('md5').update(text).digest().readUInt32BE(0)
