import { test } from 'bun:test'

/** Set by `./test/run` without `--full`. */
export const isShort = Boolean(process.env.TEST_SHORT)

/** A test that measures, or repeats a proof in greater size or on every page. `./test/run` leaves it to `--full`. */
export const thorough = test.skipIf(isShort)
