import { expect, test } from 'bun:test'
import { onTerminal, tutti } from '../support/binary.ts'
import { allCommands } from './commands.ts'

const all = [...(await allCommands()), ...(await allCommands('groups'))]

test.each(all.map((one) => [one.path, one] as const))(
  'tutti %s --help describes each option and has an example',
  (path, { command }) => {
    let text = ''
    command.configureOutput({ writeOut: (some) => (text += some), getOutHelpWidth: () => 80 })
    command.outputHelp()
    expect(command.description()).not.toBe('')
    expect(command.options.filter((option) => option.description === '').map((option) => option.flags)).toEqual([])
    const [, examples = ''] = text.split(/\nExamples:\n/)
    const lines = examples.trimEnd().split('\n')
    expect(lines.filter((line) => !/^( {2}|$)/.test(line))).toEqual([])
    for (const word of path.split(' ')) expect(examples).toContain(word)
    expect(text.split('\n').filter((line) => Bun.stringWidth(line) > 80)).toEqual([])
  },
)

test('the binary prints the same help piped and on a terminal', async () => {
  const piped = await tutti(['tasks', 'create', '--help'])
  expect(piped).toMatchObject({ code: 0, err: '' })
  expect(piped.out).toMatch(/--blocked-by <task>[\s\S]*\nExamples:\n {2}\$ tutti tasks create "/)
  expect(await onTerminal(['tasks', 'create', '--help'])).toEqual({ code: 0, shown: piped.out })
  const narrow = await onTerminal(['tasks', 'list', '--help'], { columns: 60 })
  const [options = ''] = narrow.shown.split('Examples:')
  expect(options.split('\n').filter((line) => line.length > 60)).toEqual([])
  expect((await tutti(['tasks', '--help'])).out).toContain('\nExamples:\n  $ tutti tasks list')
})
