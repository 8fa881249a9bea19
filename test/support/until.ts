/** Asks again every few milliseconds until the answer is neither undefined nor false, and returns it. */
export async function until<T>(what: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await what()
    if (found) return found
    await Bun.sleep(5)
  }
}
