import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from './port.ts'
import { tinyModel } from './tiny-model.ts'

export interface Llama {
  /** For CHAT_URL. */
  url: string
  stop(): Promise<void>
}

/** Starts llama-server of Debian with a model that says one sentence. `context`: tokens that it can read at once. */
export async function startLlama(context: number): Promise<Llama> {
  const program = await llamaServer()
  // Debian's runs in a folder of its own, where it finds nothing else.
  const inside = join(dirname(program), 'tmp')
  const folder = existsSync(inside) ? inside : '/tmp'
  const name = `tiny-${randomUUID()}.gguf`
  await Bun.write(join(folder, name), tinyModel())
  const port = freePort()
  const options = [
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '-c',
    String(context),
    '-np',
    '1',
    '-t',
    '1',
    '-tb',
    '1',
  ]
  const server = Bun.spawn([program, '-m', `/tmp/${name}`, ...options, '--no-warmup'], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const stop = async () => {
    server.kill()
    await server.exited
    rmSync(join(folder, name), { force: true })
  }
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) {
    if (server.exitCode !== null) throw new Error(`llama-server ended: ${await new Response(server.stderr).text()}`)
    await Bun.sleep(50)
  }
  return { url: `${url}/v1`, stop }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

/** Returns the path of the program, which `test/run` has installed, or installs it. */
async function llamaServer(): Promise<string> {
  if (process.env.TEST_LLAMA_SERVER) return process.env.TEST_LLAMA_SERVER
  const installing = Bun.spawn([join(import.meta.dir, 'llama.sh')], { stdout: 'pipe', stderr: 'inherit' })
  const path = (await new Response(installing.stdout).text()).trim()
  if ((await installing.exited) !== 0) throw new Error('test/support/llama.sh could not install llama-server')
  return path
}
