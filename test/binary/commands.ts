import type { Command } from 'commander'
import { nouns } from '../../cli/nouns/index.ts'
import { addVerbs } from '../../cli/nouns/noun.ts'
import { program } from '../../cli/program.ts'

export interface Listed {
  /** `tasks list` */
  path: string
  /** The same with each alias. */
  names: string[]
  command: Command
}

/** Returns all visible commands of the program: those with an action, or the groups. */
export async function allCommands(which: 'callable' | 'groups' = 'callable'): Promise<Listed[]> {
  for (const [name, { load, extend }] of Object.entries(nouns)) {
    const noun = program.commands.find((c) => c.name() === name) as Command
    if (noun.commands.length > 0) continue
    addVerbs(noun, (await load()).verbs)
    ;(await extend?.())?.extend(noun)
  }
  const walk = (command: Command, path: string[]): Listed[] =>
    command
      .createHelp()
      .visibleCommands(command)
      .filter((c) => c.name() !== 'help')
      .flatMap((c) => {
        const names = [c.name(), ...c.aliases()].map((name) => [...path, name].join(' '))
        return [{ path: names[0] as string, names, command: c }, ...walk(c, [...path, c.name()])]
      })
  const callable = ({ command }: Listed) => (command as unknown as { _actionHandler: unknown })._actionHandler !== null
  return walk(program, []).filter((one) => callable(one) === (which === 'callable'))
}
