import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { $ } from 'bun'

/** `bun run new` in a copy of the repository, and then the checks that every change must pass. */
const root = join(import.meta.dir, '../..')
const copy = mkdtempSync(join(tmpdir(), 'tutti-new-'))
afterAll(() => rmSync(copy, { recursive: true, force: true }))

async function run(...command: string[]): Promise<{ code: number; out: string }> {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  // The loops over kinds are the same in a short run. With GOGC=400 the compiler collects garbage less often.
  const env = { ...process.env, PATH, TEST_EMBEDDINGS: 'off', TEST_SHORT: '1', GOGC: '400' }
  const child = Bun.spawn(command, { cwd: copy, env, stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, out: out + err }
}
async function pass(...command: string[]): Promise<void> {
  const { code, out } = await run(...command)
  if (code !== 0) throw new Error(`${command.join(' ')}:\n${out.slice(-20_000)}`)
}
const textOf = (file: string): string => readFileSync(join(copy, file), 'utf8')
/** All files of the copy, with what they contain. */
const contents = (): Map<string, string> =>
  new Map([...new Bun.Glob('{src,cli,seeds,test,migrations,docs}/**/*').scanSync(copy)].map((f) => [f, textOf(f)]))

describe.if(process.env.FULL === '1')('bun run new', () => {
  beforeAll(async () => {
    const without = ['node_modules', '.git', '.tools', 'dist', '.cache/agents', '.cache/peers', '.cache/web']
    await $`tar c ${without.map((name) => `--exclude=./${name}`)} . | tar x -C ${copy}`.cwd(root).quiet()
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  }, 120_000)

  test('changes nothing if there is a kind with this name', async () => {
    const before = contents()
    const { code, out } = await run('bun', 'run', 'new', 'note')
    expect([code, out]).toEqual([1, expect.stringContaining('There is a kind named note already')])
    expect(contents()).toEqual(before)
  })

  test('writes a kind, and refuses to write it twice', async () => {
    await pass('bun', 'run', 'new', 'policy')
    expect(textOf('src/records/names.ts')).toContain("policy: { path: '/policies'")
    expect(textOf('src/features/policies/routes.ts')).toContain("'/api/policies/:id/restore'")
    const written = contents()
    expect((await run('bun', 'run', 'new', 'policy')).out).toContain('There is a kind named policy already')
    expect(contents()).toEqual(written)
  }, 120_000)

  test('writes code that the formatter, the compiler and the migrations accept', async () => {
    await pass('bun', 'node_modules/.bin/biome', 'check', '.')
    await pass('bun', 'run', 'tsc', '--noEmit', '--checkers', '1')
    await pass('bun', 'run', 'tsc', '--noEmit', '--checkers', '1', '-p', 'src/web')
    await pass('bun', 'cli/dev/migration.ts', '--check')
  }, 600_000)

  test('writes tests of REST and MCP that pass, and a kind that all loops over kinds accept', async () => {
    const loops = {
      features: ['policies', 'records', 'trash', 'sync', 'transfer-complete', 'demo', 'manual'],
      contract: ['routes', 'tools', 'tenants', 'refused', 'limited', 'scopes', 'openapi'],
      mcp: ['answers', 'list', 'quoting', 'cursors', 'budget', 'resources', 'instructions'],
    }
    const files = Object.entries(loops).flatMap(([folder, names]) =>
      names.map((name) => `test/${folder}/${name}.test.ts`),
    )
    await pass('bun', 'test', '--timeout', '300000', '-u', 'test/architecture.test.ts', ...files)
  }, 1_500_000)
})
