/**
 * Returns a port that is free now and that the system gives to nobody who asks for any port, so that it stays free.
 * Those begin at 32768.
 */
export function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // Somebody has it.
    }
  }
}
