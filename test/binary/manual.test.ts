import { expect, test } from 'bun:test'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY, folder, json, serve, tutti } from '../support/binary.ts'

const root = join(import.meta.dir, '../..')
const pages = [...new Bun.Glob('src/features/manual/pages/*/*.md').scanSync(root)].sort()
const texts = ['README.md', ...pages].map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

/** Commands in shell blocks and inline code. */
const commandsIn = (text: string): string[] => [
  ...[...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n').flatMap((line) => line.split(/[|(]/))),
  ...[...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
].map((line) => line.trim().replace(/ #.*| <.*/, '')).filter((line) => line.startsWith('tutti ')) // biome-ignore format: one pipe

test('every command and option in the manual and the README exists', async () => {
  const helps = new Map<string, Promise<string>>()
  const help = (path: string[]) => {
    const key = path.join(' ')
    const made = helps.get(key) ?? tutti([...path, '--help']).then(({ out }) => out)
    helps.set(key, made)
    return made
  }
  const wrong: string[] = []
  let seen = 0
  for (const { name, text } of texts)
    for (const line of commandsIn(text)) {
      const words = line.match(/'[^']*'|\S+/g)?.slice(1) ?? []
      const path: string[] = []
      for (const word of words) {
        const below = /\nCommands:\n([\s\S]*)/.exec(await help(path))?.[1]
        if (!below || word.startsWith('-')) break
        if (new RegExp(`^  (\\w+\\|)?${word}[ |]`, 'm').test(below)) path.push(word)
        else if (path.length === 0 || !/\[options\] (\[command\] )?[<[]/.test(await help(path)))
          wrong.push(`${name}: ${line} (no ${word})`)
        else break
      }
      const known = await help(path)
      for (const option of words.filter((word) => /^--[a-z]/.test(word)))
        if (!new RegExp(`\\s${option.split('=')[0]}\\b`).test(known)) wrong.push(`${name}: ${line} (no ${option})`)
      seen++
    }
  expect(wrong).toEqual([])
  expect(seen).toBeGreaterThan(50)
}, 300_000)

test('the commands in "First five minutes" of the README work', async () => {
  const HOME = folder()
  const bin = folder()
  symlinkSync(BINARY, join(bin, 'tutti'))
  const env = { HOME, PATH: `${bin}:${process.env.PATH}` }
  const server = await serve({ dir: join(HOME, '.local/share/tutti'), env: { HOME } })
  const part = /## First five minutes([\s\S]*?)\n## /.exec(texts[0]?.text ?? '')?.[1] ?? ''
  const lines = [...part.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n').map((line) => line.trim()).filter(Boolean)) // biome-ignore format: one pipe
  expect(lines.length).toBeGreaterThan(5)
  const cwd = folder()
  let shown = ''
  for (const line of lines) {
    const command = line.replace('http://127.0.0.1:4242', server.url)
    const child = Bun.spawn(['sh', '-c', command], { env, cwd, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    let said = ''
    let approved: Promise<void> | undefined
    const read = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder()
      for await (const chunk of stream) {
        said += decoder.decode(chunk, { stream: true })
        const code = /[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}/.exec(said)?.[0]
        if (command.startsWith('tutti login') && code) approved ??= approve(server.url, code, lines[0] as string)
      }
    }
    const [, , code] = await Promise.all([read(child.stdout), read(child.stderr), child.exited])
    await approved
    expect([line, code, code === 0 ? '' : said]).toEqual([line, 0, ''])
    shown += said
  }
  expect(shown).toContain('MY-1')
  const settings = JSON.parse(readFileSync(join(HOME, '.claude.json'), 'utf8')) as {
    mcpServers: { tutti: { url: string } }
  }
  expect(settings.mcpServers.tutti.url).toBe(`${server.url}/mcp/token`)
  const next = Bun.spawnSync(['tutti', 'tasks', 'list', '--json'], { env, cwd })
  expect(JSON.parse(next.stdout.toString())).toMatchObject({ items: [{ key: 'MY-1', status: 'in_progress' }] })
  expect(await server.stop()).toBe(0)
}, 300_000)

/** Signs in like a browser, with the password of the README. */
async function approve(url: string, userCode: string, made: string): Promise<void> {
  const [, password, email] = /printf %s '([^']+)' .* --email (\S+)/.exec(made) ?? []
  const { token } = (await (await fetch(`${url}/api/auth/login`, json('POST', { email, password }))).json()) as {
    token: string
  }
  const answer = await fetch(`${url}/api/auth/device/approve`, json('POST', { userCode }, token))
  expect(answer.status).toBe(200)
}
