/** `from` waits for `to`. */
export interface Edge {
  readonly from: string
  readonly to: string
}

/**
 * Returns a path from one of the starts to the target, which the start waits for directly or through others.
 * Visits every node once: there may be thousands.
 */
export function wayTo(target: string, starts: readonly string[], edges: readonly Edge[]): string[] | undefined {
  const waitsFor = Map.groupBy(edges, ({ from }) => from)
  const cameFrom = new Map<string, string | undefined>(starts.map((id) => [id, undefined]))
  // Iterating a map also visits the entries that are added meanwhile.
  for (const [id] of cameFrom) {
    if (id === target) {
      const way: string[] = []
      for (let at: string | undefined = id; at !== undefined; at = cameFrom.get(at)) way.unshift(at)
      return way
    }
    for (const { to } of waitsFor.get(id) ?? []) if (!cameFrom.has(to)) cameFrom.set(to, id)
  }
  return undefined
}

/** Returns the nodes of one circle, if there is any. Looks at every edge once or twice, however many there are. */
export function circleIn(edges: readonly Edge[]): ReadonlySet<string> | undefined {
  const waiting = new Map<string, number>()
  for (const { from } of edges) waiting.set(from, (waiting.get(from) ?? 0) + 1)
  const waiters = Map.groupBy(edges, ({ to }) => to)
  // Removes what waits for nothing, then what waited for that. Iterating a set also visits the values that are added meanwhile.
  const free = new Set(edges.flatMap(({ to }) => (waiting.has(to) ? [] : to)))
  for (const id of free)
    for (const { from } of waiters.get(id) ?? []) {
      const left = (waiting.get(from) as number) - 1
      waiting.set(from, left)
      if (left === 0) free.add(from)
    }
  const next = new Map(edges.flatMap(({ from, to }) => (free.has(from) || free.has(to) ? [] : [[from, to] as const])))
  // Every node that is left waits for another one that is left, so following them leads back to where a circle began.
  let at = next.keys().next().value
  const way = new Set<string>()
  while (at !== undefined && !way.has(at)) {
    way.add(at)
    at = next.get(at)
  }
  return at === undefined ? undefined : new Set([...way].slice([...way].indexOf(at)))
}
