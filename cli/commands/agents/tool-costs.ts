import { tools } from '../../../src/all-features.ts'
import { toolTexts } from '../../../src/mcp/catalogue.ts'
import { countedTokens } from '../../../src/mcp/costs.ts'
import { includesTool, toolsetNames } from '../../../src/mcp/toolsets.ts'
import { printResult, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

/** Prints how many tokens a model has to read for each toolset. */
export function showToolCosts({ json }: { json?: boolean }): void {
  const priced = tools.map((tool) => {
    const tokens = countedTokens(toolTexts(tool)[0])
    if (tokens === undefined)
      throw new Refusal(`${tool.name} has changed since its tokens were counted. Run: bun cli/dev/prepare.ts`)
    return { tool, tokens }
  })
  const costOf = (toolset: string, some: typeof priced) => ({
    toolset,
    tools: some.length,
    tokens: some.reduce((n, t) => n + t.tokens, 0),
  })
  const costs = [
    costOf('all', priced),
    ...toolsetNames.map((name) =>
      costOf(
        name,
        priced.filter(({ tool }) => includesTool([name], tool)),
      ),
    ),
  ]
  printResult(
    json,
    { encoding: 'o200k', toolsets: costs },
    ...tableLines(costs, [
      { title: 'Toolset', of: (s) => s.toolset },
      { title: 'Tools', of: (s) => s.tools },
      { title: 'Tokens (o200k)', of: (s) => s.tokens },
    ]),
  )
}
