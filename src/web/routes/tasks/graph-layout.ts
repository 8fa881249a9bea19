/** Where the tasks of a graph are placed: in layers, each to the right of all that it waits for. */
import type { TaskGraph } from '../../../features/tasks/dependencies/graph-schema.ts'
import { isClosed } from '../../../records/task-states.ts'

export type GraphNode = TaskGraph['nodes'][number]

export interface GraphLayout {
  /** Layers from left to right, each from top to bottom. */
  layers: GraphNode[][]
  /** Pairs of ids: from what must be done first to what waits for it. */
  edges: { from: string; to: string }[]
  /** The ids of the longest chain of open tasks that match the filters, in their order. */
  chain: string[]
}

export function layoutGraph({ nodes, edges }: Pick<TaskGraph, 'nodes' | 'edges'>): GraphLayout {
  const blocks = edges.filter(({ kind }) => kind === 'blocks').map(({ from, to }) => ({ from, to }))
  const tied = new Set(blocks.flatMap(({ from, to }) => [from, to]))
  const shown = nodes.filter(({ id }) => tied.has(id))
  const before = Map.groupBy(blocks, ({ to }) => to)
  const depth = depths(shown, (id) => (before.get(id) ?? []).map(({ from }) => from))
  const layers: GraphNode[][] = []
  for (const node of shown) {
    const layer = depth.get(node.id) ?? 0
    layers[layer] ??= []
    layers[layer].push(node)
  }
  return { layers: layers.filter(Boolean), edges: blocks, chain: longestChain(shown, before) }
}

/** The length of the longest way that leads to each node. The server refuses circles, so there are none. */
function depths(nodes: readonly GraphNode[], waitsFor: (id: string) => string[]): Map<string, number> {
  const known = new Map<string, number>()
  const depthOf = (id: string): number => {
    const there = known.get(id)
    if (there !== undefined) return there
    known.set(id, 0)
    const depth = Math.max(-1, ...waitsFor(id).map(depthOf)) + 1
    known.set(id, depth)
    return depth
  }
  for (const { id } of nodes) depthOf(id)
  return known
}

function longestChain(nodes: readonly GraphNode[], before: Map<string, { from: string }[]>): string[] {
  const open = new Set(
    nodes.filter(({ status, matches }) => !isClosed(status) && matches !== false).map(({ id }) => id),
  )
  const chains = new Map<string, string[]>()
  const chainTo = (id: string): string[] => {
    const there = chains.get(id)
    if (there) return there
    chains.set(id, [id])
    const longest = (before.get(id) ?? [])
      .filter(({ from }) => open.has(from))
      .map(({ from }) => chainTo(from))
      .reduce<string[]>((a, b) => (b.length > a.length ? b : a), [])
    const chain = [...longest, id]
    chains.set(id, chain)
    return chain
  }
  const all = [...open].map(chainTo)
  const best = all.reduce<string[]>((a, b) => (b.length > a.length ? b : a), [])
  return best.length > 1 ? best : []
}
