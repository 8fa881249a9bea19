import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The programs of others that the tests run against us, for a processor: exact versions, from npm. */
export const dependenciesFor = (arch: string): Record<string, string> => ({
  '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@google/gemini-cli': '0.61.0',
  '@openai/codex': '0.166.0',
  // The programs themselves: what is named like them on npm only fetches these when it is installed.
  [`@anthropic-ai/claude-code-linux-${arch}`]: '2.1.325',
  [`opencode-linux-${arch}`]: '1.18.18',
  // Most of them want a newer Node than the machine may have.
  [`node-linux-${arch}`]: '24.21.0',
})

const { arch } = process
/** Git does not see it. */
const cache = resolve(import.meta.dir, '../../.cache')
const modules = join(cache, 'agents/node_modules')

const js = (path: string): string[] => [join(modules, `node-linux-${arch}/bin/node`), join(modules, path)]
export const programs = {
  conformance: js('@modelcontextprotocol/conformance/dist/index.js'),
  inspector: js('@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
  gemini: js('@google/gemini-cli/bundle/gemini.js'),
  codex: js('@openai/codex/bin/codex.js'),
  claude: [join(modules, `@anthropic-ai/claude-code-linux-${arch}/claude`)],
  opencode: [join(modules, `opencode-linux-${arch}/bin/opencode`)],
}

export const install = (): Promise<void> => installInto('agents', dependenciesFor(arch))

/** Installs packages into a folder of the cache, unless exactly these are there. */
export async function installInto(
  name: string,
  dependencies: Record<string, string>,
  ...options: string[]
): Promise<void> {
  const folder = join(cache, name)
  const wanted = JSON.stringify({ private: true, dependencies }, null, 2)
  const done = join(folder, 'installed.json')
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), wanted)
  // A download that stalls is begun again: what came so far is in the package manager's cache.
  const seconds = [120, 240, 360]
  for (const [attempt, limit] of seconds.entries()) {
    const { code, out } = await run([process.execPath, 'install', '--ignore-scripts', ...options], {
      cwd: folder,
      env: { HOME: process.env.HOME },
      seconds: limit,
    })
    if (code === 0) break
    if (attempt === seconds.length - 1) throw new Error(`The programs to test with could not be installed:\n${out}`)
  }
  writeFileSync(done, wanted)
}

/**
 * Asks a program whether it is connected. Some give a server five seconds, which a busy machine may exceed, so a program
 * that is not connected is asked again; returns what it said last.
 */
export async function connectedBy(ask: () => Promise<{ out: string }>, isConnected: RegExp): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const { out } = await ask()
    if (isConnected.test(out) || attempt === 10) return out
  }
}

/** Runs a program to its end and returns both its outputs. */
export async function run(
  command: readonly string[],
  { cwd, env = {}, seconds = 240 }: { cwd?: string; env?: Record<string, string | undefined>; seconds?: number } = {},
): Promise<{ code: number; out: string }> {
  const path = `${join(modules, `node-linux-${arch}/bin`)}:${process.env.PATH}`
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: path, TMPDIR: process.env.TMPDIR, CI: '1', NO_COLOR: '1', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  clearTimeout(timer)
  return { code, out: `${out}${errors}` }
}
