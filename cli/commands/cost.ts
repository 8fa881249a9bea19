import counts from '../../.cache/tool-tokens.json'
import { tools } from '../../src/feature.ts'
import { toolText } from '../../src/mcp/catalogue.ts'
import { includesTool, toolsetNames } from '../../src/mcp/toolsets.ts'
import { print, table } from '../terminal/output.ts'
import { Refusal } from '../terminal/report.ts'

/** Prints how many tokens a model has to read for each toolset. */
export function cost({ json }: { json?: boolean }): void {
  const counted: Record<string, number> = counts
  const priced = tools.map((tool) => {
    const tokens = counted[Bun.hash(toolText(tool)).toString(36)]
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
  print(
    json,
    { encoding: 'o200k', toolsets: costs },
    ...table(costs, [
      { title: 'Toolset', of: (s) => s.toolset },
      { title: 'Tools', of: (s) => s.tools },
      { title: 'Tokens (o200k)', of: (s) => s.tokens },
    ]),
  )
}
