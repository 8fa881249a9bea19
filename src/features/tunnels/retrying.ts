/** Milliseconds before each new attempt. */
const PAUSES = [100, 400, 1600]

/** Repeats failed work, because the database may be unreachable for a moment. Throws the last error. */
export async function retryWork<T>(work: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES)
    try {
      return await work()
    } catch {
      await Bun.sleep(pause)
    }
  return work()
}
