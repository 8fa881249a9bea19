#!/usr/bin/env bun
import help from '../.cache/help.txt' with { type: 'text' }
import { version } from '../src/version.ts'
import { nouns } from './nouns/index.ts'

// Outside production mode Elysia is slow and returns verbose validation errors. Can be overridden from source.
process.env.NODE_ENV ??= 'production'

/**
 * Entry point of the binary. Loads no more than the command needs: nothing for --version and --help, one noun for its
 * verbs.
 */
const [only, ...more] = process.argv.slice(2)
if (more.length === 0 && (only === '--version' || only === '-V')) console.log(version)
else if (more.length === 0 && (only === '--help' || only === '-h')) console.log(help)
else {
  const { addNoun, createRootCommand, runProgram } = await import('./root.ts')
  const noun = only !== undefined && Object.hasOwn(nouns, only) ? nouns[only] : undefined
  if (!noun) await runProgram((await import('./program.ts')).program)
  else {
    const program = createRootCommand()
    await addNoun(program, only as string, noun)
    await runProgram(program)
  }
}
