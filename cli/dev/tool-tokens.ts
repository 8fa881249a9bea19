/**
 * Counts what each tool costs a model to read. The tokenizer's tables weigh megabytes, so the binary has the counts
 * instead.
 */
import { join } from 'node:path'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { tools } from '../../src/feature.ts'
import { toolText } from '../../src/mcp/catalogue.ts'

/** By the tool's text, so that a count is never shown for another. */
export async function writeToolTokens(): Promise<void> {
  const counts = Object.fromEntries(
    tools.map((tool) => [Bun.hash(toolText(tool)).toString(36), countTokens(toolText(tool))]),
  )
  await Bun.write(join(import.meta.dir, '../../.cache/tool-tokens.json'), `${JSON.stringify(counts)}\n`)
}
