#!/usr/bin/env bun
import help from '../.cache/help.txt' with { type: 'text' }
import { version } from '../src/version.ts'

// Elysia is slow and talkative about bad input unless it knows; whoever runs from source may say otherwise.
process.env.NODE_ENV ??= 'production'

/** The entry of the binary. What is asked most is answered without loading anything. */
const [only, ...more] = process.argv.slice(2)
if (more.length === 0 && (only === '--version' || only === '-V')) console.log(version)
else if (more.length === 0 && (only === '--help' || only === '-h')) console.log(help)
else await (await import('./program.ts')).run()
