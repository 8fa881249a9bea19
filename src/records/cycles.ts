/** An edge of the graph: `from` waits for `to`. */
export interface Edge {
  readonly from: string
  readonly to: string
}

/**
 * Returns the path from one of the starts to the target that it waits for, directly or through others. Undefined if
 * there is none. Visits every node at most once: there may be thousands.
 */
export function findPath(target: string, starts: readonly string[], edges: readonly Edge[]): string[] | undefined {
  const waitsFor = Map.groupBy(edges, ({ from }) => from)
  const cameFrom = new Map<string, string | undefined>(starts.map((id) => [id, undefined]))
  // Iterating a map also visits the entries that are added meanwhile.
  for (const [id] of cameFrom) {
    if (id === target) {
      const path: string[] = []
      for (let at: string | undefined = id; at !== undefined; at = cameFrom.get(at)) path.unshift(at)
      return path
    }
    for (const { to } of waitsFor.get(id) ?? []) if (!cameFrom.has(to)) cameFrom.set(to, id)
  }
  return undefined
}

/** Returns the nodes of one circle, if there is any, in linear time. */
export function findCycle(edges: readonly Edge[]): ReadonlySet<string> | undefined {
  const waiting = new Map<string, number>()
  for (const { from } of edges) waiting.set(from, (waiting.get(from) ?? 0) + 1)
  const waiters = Map.groupBy(edges, ({ to }) => to)
  // Removes nodes that wait for nothing, then the nodes that waited only for removed ones. Iterating a set also visits
  // the values that are added meanwhile.
  const free = new Set(edges.flatMap(({ to }) => (waiting.has(to) ? [] : to)))
  for (const id of free)
    for (const { from } of waiters.get(id) ?? []) {
      const left = (waiting.get(from) as number) - 1
      waiting.set(from, left)
      if (left === 0) free.add(from)
    }
  const next = new Map(edges.flatMap(({ from, to }) => (free.has(from) || free.has(to) ? [] : [[from, to] as const])))
  // Every remaining node waits for another remaining one, so following the edges ends in a circle.
  let at = next.keys().next().value
  const path = new Set<string>()
  while (at !== undefined && !path.has(at)) {
    path.add(at)
    at = next.get(at)
  }
  return at === undefined ? undefined : new Set([...path].slice([...path].indexOf(at)))
}
