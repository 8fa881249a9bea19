import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/feature.ts'
import { toolText } from '../../src/mcp/catalogue.ts'
import { folder, onTerminal, tutti } from '../support/binary.ts'

/** The script of a shell, in a file. */
async function script(shell: string): Promise<string> {
  const file = join(folder(), `tutti.${shell}`)
  const made = await tutti(['completion', shell])
  expect([made.code, made.err]).toEqual([0, ''])
  writeFileSync(file, made.out)
  return file
}

describe('completion', () => {
  test('bash offers what comes next', async () => {
    const ask = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf '%s\\n' "\${COMPREPLY[@]}"`
    const file = await script('bash')
    const offered = (...words: string[]) =>
      Bun.spawnSync(['bash', '-c', ask, file, 'tutti', ...words])
        .stdout.toString()
        .trim()
        .split('\n')
    expect(offered('ta')).toEqual(['tasks'])
    expect(offered('')).toContainValues(['tasks', 'login', 'serve', '--help'])
    expect(offered('')).not.toContain('hook')
    expect(offered('tasks', '')).toContainValues(['list', 'next', 'claim', 'done'])
    expect(offered('tasks', 'list', '--st')).toEqual(['--status'])
    expect(offered('tasks', 'list', '--status', 'todo', '--as')).toEqual(['--assignee'])
    expect(offered('connect', 'c')).toEqual(['claude-code', 'codex', 'cursor'])
    expect(offered('service', 'in')).toEqual(['install'])
  })

  test.each(['bash', 'zsh', 'fish'])('%s takes the script without a complaint, where it is installed', async (shell) => {
    const file = await script(shell)
    if (!Bun.which(shell)) return
    const checked = Bun.spawnSync([shell, '-n', file])
    expect([checked.exitCode, checked.stderr.toString()]).toEqual([0, ''])
  })

  test('fish and zsh know every word that bash knows', async () => {
    const [bash, zsh, fish] = await Promise.all(['bash', 'zsh', 'fish'].map(async (shell) => (await tutti(['completion', shell])).out))
    const words = new Set([...(bash as string).matchAll(/ words='([^']+)' ;;/g)].flatMap(([, some]) => some?.split(' ') ?? []))
    expect(words.size).toBeGreaterThan(100)
    for (const word of words) {
      expect(zsh).toContain(`'${word}:`)
      expect(fish).toMatch(new RegExp(` -(a|l) ${word.replace(/^--/, '')} -d `))
    }
  })
})

describe('help', () => {
  test('is the same whether it was made before or is made now', async () => {
    const made = await tutti(['--help'])
    expect(made).toEqual(await tutti(['help']))
    expect(await tutti(['-h'])).toEqual(made)
    expect((await onTerminal(['--help'])).shown).toBe(made.out)
    expect(await tutti(['-V'])).toEqual(await tutti(['--version']))
  })

  test('of a verb has its options and examples', async () => {
    const { code, out } = await tutti(['tasks', 'create', '--help'])
    expect([code, out]).toEqual([0, expect.stringMatching(/--blocked-by <task>[\s\S]*Examples:\n {2}\$ tutti tasks create "/)])
  })
})

test('tutti mcp cost is what an agent pays, counted as the model counts', async () => {
  const { code, out } = await tutti(['mcp', 'cost', '--json'])
  const { toolsets } = JSON.parse(out) as { toolsets: { toolset: string; tools: number; tokens: number }[] }
  const sum = (some: typeof tools) => some.reduce((n, tool) => n + countTokens(toolText(tool)), 0)
  expect(code).toBe(0)
  expect(toolsets[0]).toEqual({ toolset: 'all', tools: tools.length, tokens: sum(tools) })
  expect(toolsets.find((t) => t.toolset === 'core')?.tokens).toBe(sum(tools.filter((t) => t.core)))
  expect(toolsets.slice(2).reduce((n, t) => n + t.tokens, 0)).toBe(sum(tools))
  expect((await onTerminal(['mcp', 'cost'], { env: { NO_COLOR: '1' } })).shown).toMatch(/^Toolset +Tools +Tokens \(o200k\)\nall +55 /)
})
