/**
 * Returns a port that is free now and stays free for this process: the system gives it to nobody who asks for any port
 * (those begin at 32768), and other test processes cannot take it either, because a socket that ends with this process
 * stands for it.
 */
export function freePort(): number {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      // An abstract socket, which is no file. Nobody connects to it.
      Bun.listen({ unix: `\0tutti-test-port-${port}`, socket: { data() {} } }).unref()
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // Somebody has it.
    }
  }
}
