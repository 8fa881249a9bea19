#!/usr/bin/env bun
import help from '../.cache/help.txt' with { type: 'text' }
import { version } from '../src/version.ts'
import { nouns } from './nouns/index.ts'

// Elysia is slow and talkative about bad input unless it knows; whoever runs from source may say otherwise.
process.env.NODE_ENV ??= 'production'

/** The entry of the binary. What is asked most is answered without loading anything, and one noun does not wait for all the others. */
const [only, ...more] = process.argv.slice(2)
if (more.length === 0 && (only === '--version' || only === '-V')) console.log(version)
else if (more.length === 0 && (only === '--help' || only === '-h')) console.log(help)
else {
  const { addNoun, root, run } = await import('./root.ts')
  const noun = only !== undefined && Object.hasOwn(nouns, only) ? nouns[only] : undefined
  if (!noun) await run((await import('./program.ts')).program)
  else {
    const program = root()
    await addNoun(program, only as string, noun)
    await run(program)
  }
}
