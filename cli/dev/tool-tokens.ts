/**
 * Counts the tokens that each tool costs a model. The tables of the tokenizer take megabytes, so the binary contains
 * the counts instead.
 */
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/all-features.ts'
import { toolTexts } from '../../src/mcp/catalogue.ts'

/** Keyed by a hash of the tool's text, so that an outdated count is never shown. */
export async function writeToolTokens(): Promise<void> {
  const counts = Object.fromEntries(
    tools.flatMap(toolTexts).map((text) => [Bun.hash(text).toString(36), countTokens(text)]),
  )
  await Bun.write(join(import.meta.dir, '../../.cache/tool-tokens.json'), `${JSON.stringify(counts)}\n`)
}
