/** Far more than anything takes: a test that hangs says where. */
const MOST_MS = 120_000

/** Asks again every few milliseconds until the answer is neither undefined nor false, and returns it. */
export async function until<T>(what: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const begun = performance.now()
  for (;;) {
    const found = await what()
    if (found) return found
    if (performance.now() - begun > MOST_MS) throw new Error(`This did not come true within two minutes: ${what}`)
    await Bun.sleep(5)
  }
}
