/** A thread that asks a server for something tiny whenever it is told to, and says how many milliseconds that took. */
declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<string>) => {
  const from = performance.now()
  await (await fetch(data)).arrayBuffer()
  self.postMessage(performance.now() - from)
}
