import counts from '../../.cache/tool-tokens.json'
import type { Actor } from '../auth/actor.ts'
import type { ToolCosts as Costs, ToolCost } from '../services.ts'
import { ToolCatalogue, toolText } from './catalogue.ts'
import type { Tool } from './tool.ts'
import { includesTool, toolsetNames } from './toolsets.ts'

const counted: Record<string, number> = counts

/** Returns the tokens that were counted for this text when the binary was built, if it has not changed since. */
export const countedTokens = (text: string): number | undefined => counted[Bun.hash(text).toString(36)]

/** Average characters per token in the text of a tool. */
const CHARACTERS = 4.35
const tokensOf = (text: string): number => countedTokens(text) ?? Math.round(text.length / CHARACTERS)
const costOf = (texts: readonly string[]): ToolCost => ({
  count: texts.length,
  tokens: texts.reduce((sum, text) => sum + tokensOf(text), 0),
})

/** The token cost of tool lists. Builds the catalogue on demand, because few servers need it. */
export class ToolCosts implements Costs {
  #built: ToolCatalogue | undefined

  constructor(private readonly tools: readonly Tool[]) {}

  get #catalogue(): ToolCatalogue {
    this.#built ??= new ToolCatalogue(this.tools)
    return this.#built
  }

  /** Returns the cost of the list that this actor gets. */
  forActor(actor: Actor): ToolCost {
    return costOf(this.#catalogue.list(actor, { toolsets: [], readOnly: false }).map(toolText))
  }

  /** Returns the cost of all tools that toolsets select, for a token that may do everything. None selects all. */
  selected(toolsets: readonly string[]): ToolCost {
    const tools = this.tools.filter((tool) => includesTool(toolsets, tool))
    return costOf(tools.map(({ name }) => this.#catalogue.text(name)))
  }

  /** Returns the cost of each toolset. */
  toolsets(): (ToolCost & { name: string })[] {
    return toolsetNames.map((name) => ({ name, ...this.selected([name]) }))
  }
}
