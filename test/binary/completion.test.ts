import { describe, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/all-features.ts'
import { toolTexts } from '../../src/mcp/catalogue.ts'
import { includesTool, toolsetNames } from '../../src/mcp/toolsets.ts'
import { BINARY, folder, onTerminal, tutti } from '../support/binary.ts'

const config = folder()
const bin = folder()
symlinkSync(BINARY, join(bin, 'tutti'))
mkdirSync(join(config, 'tutti'))
const profiles = { work: { server: 'https://tutti.example.com' }, home: { server: 'http://127.0.0.1:4242' } }
writeFileSync(join(config, 'tutti/credentials.json'), JSON.stringify({ current: 'home', profiles }), { mode: 0o600 })

/** With our script, and some files to choose from. */
async function shell(name: string): Promise<{ script: string; cwd: string; env: Record<string, string> }> {
  const cwd = folder()
  const made = await tutti(['completion', name])
  expect([made.code, made.err]).toEqual([0, ''])
  const script = join(folder(), `tutti.${name}`)
  writeFileSync(script, made.out)
  writeFileSync(join(cwd, 'backup one.tutti'), '')
  writeFileSync(join(cwd, 'backup-two.tutti'), '')
  return {
    script,
    cwd,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: folder(),
      XDG_CONFIG_HOME: config,
      TERM: 'dumb',
      LC_ALL: 'C.UTF-8',
    },
  }
}

/** The typed words and the expected suggestions, the same in every shell. */
const cases: [string[], string[]][] = [
  [['ta'], ['tasks']],
  [['tasks', 'cl'], ['claim']],
  [['tasks', 'list', '--sta'], ['--status']],
  [['tasks', 'list', '--priority', 'c'], ['critical']],
  [
    ['tasks', 'create', 'x', '--status', ''],
    ['backlog', 'todo'],
  ],
  [
    ['memory', 'search', 'x', '--kind', 's'],
    ['session', 'spec'],
  ],
  [['search', 'x', '--kind', 'sk'], ['skill']],
  // The value of an option is no word of the command.
  [['tasks', 'list', '--status', 'todo', '--assi'], ['--assignee']],
  [
    ['connect', 'c'],
    ['claude-code', 'codex', 'cursor'],
  ],
  [['connect', 'codex', '--std'], ['--stdio']],
  [['service', 'ins'], ['install']],
  [
    ['completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
  [
    ['whoami', '--profile', ''],
    ['home', 'work'],
  ],
  [['profiles', 'use', 'w'], ['work']],
  [
    ['restore', 'back'],
    ['backup one.tutti', 'backup-two.tutti'],
  ],
  [['upgrade', '--file', 'backup-'], ['backup-two.tutti']],
  [['hoo'], []],
]

describe('completion', () => {
  test('bash', async () => {
    const { script, ...where } = await shell('bash')
    const ask = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf '%s\\n' "\${COMPREPLY[@]}"`
    const offered = (...words: string[]) => {
      const asked = Bun.spawnSync(['bash', '-c', ask, script, 'tutti', ...words], where)
      expect(asked.stderr.toString()).not.toContain('syntax')
      return asked.stdout.toString().split('\n').filter(Boolean).toSorted()
    }
    for (const [typed, offers] of cases) expect([typed, offered(...typed)]).toEqual([typed, offers])
    expect(offered('tasks', 'list', '--assignee', '=', '')).toEqual([])
    expect(offered('')).toContainValues(['tasks', 'login', 'serve', 'backup', 'db'])
    expect(offered('tasks', '')).toContainValues(['list', 'next', 'claim', 'done'])
    expect(offered('whoami', '')).toContainValues(['--json', '--help'])
  })

  test.if(Bun.which('fish') !== null)('fish', async () => {
    const { script, ...where } = await shell('fish')
    const offered = (words: string[]) => {
      const line = ['tutti', ...words].join(' ')
      const asked = Bun.spawnSync(['fish', '-N', '-c', 'source $argv[1]; complete -C $argv[2]', script, line], where)
      expect(asked.stderr.toString()).toBe('')
      return asked.stdout.toString().split('\n').filter(Boolean).toSorted()
    }
    for (const [typed, offers] of cases) {
      const got = offered(typed)
      expect([typed, got.map((line) => line.split('\t')[0]?.replaceAll('\\', ''))]).toEqual([typed, offers])
    }
    expect(offered(['ta'])).toEqual(['tasks\tManage tasks'])
  })

  test.if(Bun.which('zsh') !== null)(
    'zsh',
    async () => {
      const { script, ...where } = await shell('zsh')
      // As on a terminal: what is there is listed, or written out when it is the only one; ^T says what the line has become.
      const rc = `PS1=; PROMPT_EOL_MARK=; unset zle_bracketed_paste; setopt no_beep no_list_ambiguous; autoload -Uz compinit; compinit -u -D
      source '${script}'; say() { print -r -- "LINE=[$BUFFER]"; BUFFER= }; zle -N say; bindkey '^T' say; LISTMAX=1000`
      const home = folder()
      writeFileSync(join(home, '.zshrc'), rc)
      const lines = [...cases.map(([typed]) => typed), ['']].map((typed) => `tutti ${typed.join(' ')}\t\x14`)
      const child = Bun.spawn(['script', '-qec', 'stty cols 200 rows 50; exec zsh -i', '/dev/null'], {
        ...where,
        env: { ...where.env, ZDOTDIR: home, SHELL: '/bin/sh' },
        stdin: new Blob([...lines, 'exit\n']),
        stdout: 'pipe',
      })
      const shown = (await new Response(child.stdout).text()).replaceAll('\r', '').split(/(?<=LINE=\[.*\])\n/)
      for (const [i, [typed, offers]] of cases.entries()) {
        const line = /LINE=\[(.*)\]/.exec(shown[i] ?? '')?.[1]?.trimEnd()
        const [only, ...more] = offers
        if (more.length > 0)
          expect(offers.filter((offer) => !shown[i]?.replaceAll('\\', '').includes(offer))).toEqual([])
        else expect([typed, line]).toEqual([typed, ['tutti', ...typed.slice(0, -1), only ?? typed.at(-1)].join(' ')])
      }
      expect(shown[cases.length]).toMatch(/features +-- Manage features and their gates/)
    },
    300_000,
  )

  test('the suggestions lead to every command', async () => {
    const offered = async (...words: string[]) =>
      (await tutti(['complete', '--', ...words, ''])).out
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t')[0] as string)
    const reached = async (...path: string[]): Promise<string[]> => {
      const { out } = await tutti([...path, '--help'])
      const listed = [...(/\nCommands:\n([\s\S]*?)(\n\n|$)/.exec(out)?.[1]?.matchAll(/^ {2}([a-z-]+)/gm) ?? [])].map(
        ([, name]) => name as string,
      )
      const known = listed.filter((name) => name !== 'help')
      expect([path, await offered(...path)]).toEqual([path, expect.arrayContaining(known) as never])
      const below = path.length === 0 ? await Promise.all(known.map((name) => reached(name))) : []
      return [...known.map((name) => [...path, name].join(' ')), ...below.flat()]
    }
    expect((await reached()).length).toBeGreaterThan(100)
  }, 300_000)
})

describe('help', () => {
  test('prepared at build time equals the help generated at run time', async () => {
    const made = await tutti(['--help'])
    expect(made).toEqual(await tutti(['help']))
    expect(await tutti(['-h'])).toEqual(made)
    expect((await onTerminal(['--help'])).shown).toBe(made.out)
    expect(await tutti(['-V'])).toEqual(await tutti(['--version']))
  })

  test('of a verb lists its options and examples', async () => {
    const { code, out } = await tutti(['tasks', 'create', '--help'])
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/--blocked-by <task>[\s\S]*Examples:\n {2}\$ tutti tasks create "/),
    ])
  })
})

test('tutti mcp cost prints the tokens that a model counts', async () => {
  const { code, out } = await tutti(['mcp', 'cost', '--json'])
  const { toolsets } = JSON.parse(out) as { toolsets: { toolset: string; tools: number; tokens: number }[] }
  const sum = (some: typeof tools) => some.reduce((n, tool) => n + countTokens(toolTexts(tool)[0]), 0)
  expect(code).toBe(0)
  expect(toolsets[0]).toEqual({ toolset: 'all', tools: tools.length, tokens: sum(tools) })
  for (const { toolset, tokens } of toolsets.slice(1))
    expect([toolset, tokens]).toEqual([toolset, sum(tools.filter((tool) => includesTool([toolset], tool)))])
  expect(toolsets.slice(1).map(({ toolset }) => toolset)).toEqual([...toolsetNames])
  expect(toolsets.slice(3).reduce((n, t) => n + t.tokens, 0)).toBe(sum(tools))
  expect((await onTerminal(['mcp', 'cost'], { env: { NO_COLOR: '1' } })).shown).toMatch(
    new RegExp(`^Toolset +Tools +Tokens \\(o200k\\)\nall +${tools.length} `),
  )
})
