import { Command } from 'commander'
import { version } from '../src/version.ts'
import { examples, formatExamples } from './examples.ts'
import type { nouns } from './nouns/index.ts'

const wantsJson = process.argv.includes('--json')
const usageErrorJson = (text: string) =>
  `${JSON.stringify({
    code: 'invalid',
    detail: text
      .trim()
      .replace(/^error: /, '')
      .replace(/\s+/g, ' '),
    exitCode: 2,
  })}\n`

function exampleText(command: Command): string {
  const path: string[] = []
  for (let at: Command | null = command; at?.parent; at = at.parent) path.unshift(at.name())
  const lines = examples[path.join(' ')]
  return lines ? formatExamples(lines) : ''
}

/** Creates the root command, without subcommands. */
export const createRootCommand = (): Command =>
  new Command('tutti')
    .description('People and AI agents plan and do software work together, in one self-hosted binary.')
    .version(version)
    .configureHelp({
      sortSubcommands: false,
      minWidthToWrap: 20,
      // Without commander's own list of choices and defaults, which our descriptions already contain.
      optionDescription: ({ description }) => description,
    })
    .showHelpAfterError(wantsJson ? false : '(run with --help to see the options)')
    .configureOutput({ outputError: (text, write) => write(wantsJson ? usageErrorJson(text) : text) })
    .addHelpText('afterAll', ({ command }) => exampleText(command))
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

/** Adds a noun with all its verbs. */
export async function addNoun(program: Command, name: string, noun: (typeof nouns)[string]): Promise<void> {
  const { about, load, extend } = noun
  const [{ addVerbs }, { verbs }, more] = await Promise.all([import('./nouns/noun.ts'), load(), extend?.()])
  const command = program.command(name).description(about)
  addVerbs(command, verbs)
  more?.extend(command)
}

export async function runProgram(program: Command): Promise<void> {
  try {
    await program.parseAsync()
  } catch (error) {
    const { reportError } = await import('./terminal/report.ts')
    process.exitCode = reportError(error)
  }
}
