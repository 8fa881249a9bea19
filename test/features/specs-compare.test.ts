import { expect, test } from 'bun:test'
import { applyPatch } from 'diff'
import { compareTexts } from '../../src/features/specs/compare.ts'
import type { Change } from '../../src/features/specs/schema.ts'
import { longestStretch } from '../support/cpu.ts'
import { times } from './support.ts'

const names = { from: 'a', to: 'b' }
const random = (lines: number, seed: number): string => {
  let x = seed
  return Array.from({ length: lines }, () => {
    x = (x * 1103515245 + 12345) % 2 ** 31
    return (x % 36).toString(36)
  }).join('\n')
}

test('comparing two texts blocks the event loop for less than 50 ms', async () => {
  // As many lines as 256 KiB can have, and as many different ones as take longest.
  for (const [a, b] of [
    [random(131_000, 1), random(131_000, 2)],
    [random(9_000, 3), random(9_000, 4)],
  ] as const) {
    let change: Change | undefined
    const compare = async () => {
      change = await compareTexts(a, b, names)
    }
    const longest = Math.min(await longestStretch(compare), await longestStretch(compare))
    expect(longest).toBeLessThan(50)
    const { added, removed, diff } = change as Change
    expect(added).toBeGreaterThan(1000)
    expect(removed).toBeGreaterThan(1000)
    expect(applyPatch(a, diff)).toBe(b)
  }
}, 300_000)

test('comparing two texts gives a patch that can be applied, even if it is coarse', async () => {
  const lines = times(3000, (i) => `line ${i}`)
  const other = lines.map((line, i) => (i > 100 && i < 2900 ? `other ${line}` : line))
  const { diff, added, removed } = await compareTexts(lines.join('\n'), other.join('\n'), names)
  expect({ added, removed }).toEqual({ added: 2799, removed: 2799 })
  expect(applyPatch(lines.join('\n'), diff)).toBe(other.join('\n'))
}, 300_000)
