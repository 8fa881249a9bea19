import { test } from 'bun:test'

/** Set by `./test/run` without `--full`. */
export const isShort = Boolean(process.env.TEST_SHORT)

/** A test that measures, or repeats a proof in greater size or on every page. `./test/run` leaves it to `--full`. */
export const thorough = test.skipIf(isShort)

let turn = 0
/**
 * Returns all values; in a short run every third, beginning with another one at each call. A loop over all routes then
 * sends each value to some of them.
 */
export function takeSome<T>(values: readonly T[]): readonly T[] {
  if (!isShort) return values
  const first = turn++ % Math.min(3, values.length)
  return values.filter((_, n) => n % 3 === first)
}
