/**
 * Decides which chunks of the dashboard become one file. Bun makes a chunk of every set of modules that the same pages
 * share, which leaves a page with twenty files, most of them of a few hundred bytes. Chunks are joined here until no
 * page loads more than `MOST_FILES` besides the shell. Each step joins the two that add the fewest bytes to a visit, so
 * a small chunk that many pages need ends in the shell.
 */

/** A chunk that Bun has written. `imports` are loaded with it, `loads` when they are asked for. */
export interface Chunk {
  size: number
  imports: readonly string[]
  loads: readonly string[]
}

interface Joined {
  /** What is loaded with every page, besides the first chunk and what it imports. */
  shell: string[]
  /** The other chunks that become one file, and the chunks that are asked for and need them. */
  groups: { members: string[]; neededBy: string[] }[]
}

const MOST_FILES = 6
/** How many pages, dialogs and menus a visit opens. */
const VISITED = 8
/** How much more a byte of the first load counts. */
const FIRST = 1.2
/** Bytes, compressed. The budgets that tests assert are 148 KB and 45 KB. */
const LARGEST_SHELL = 150 * 1024
const LARGEST_GROUP = 40 * 1024

const SHELL = 'shell'

/** `home`: the chunk of the page that most visits begin with. */
export function joinChunks(chunks: ReadonlyMap<string, Chunk>, first: string, home: string): Joined {
  const asked = [...new Set([...chunks.values()].flatMap(({ loads }) => loads))].sort()
  const groups = new Groups(chunks, asked, home)
  groups.join([SHELL, ...groups.withImports(first)])
  for (let largest = groups.largest(); largest; largest = groups.largest()) {
    const best = groups.bestPair(largest)
    if (!best) throw new Error(`The chunk ${largest} of the dashboard needs too many others, too large to be joined.`)
    groups.join(best)
  }
  return groups.result(first)
}

class Groups {
  /** The name of a group is that of its first member. */
  private members = new Map<string, string[]>([[SHELL, []]])
  private groupOf = new Map<string, string>([[SHELL, SHELL]])

  constructor(
    private readonly chunks: ReadonlyMap<string, Chunk>,
    private readonly asked: readonly string[],
    private readonly home: string,
  ) {
    for (const name of [...chunks.keys()].sort()) {
      this.members.set(name, [name])
      this.groupOf.set(name, name)
    }
  }

  /** Everything that is loaded with a group, itself included, the shell left out. */
  withImports(group: string, found = new Set<string>()): Set<string> {
    if (group === SHELL || found.has(group)) return found
    found.add(group)
    for (const member of this.members.get(group) ?? [])
      for (const next of this.chunks.get(member)?.imports ?? []) this.withImports(this.groupOf.get(next) ?? next, found)
    return found
  }

  join(names: readonly string[]): void {
    const [into = SHELL, ...others] = names
    for (const other of others) {
      const moved = this.members.get(other) ?? []
      this.members.delete(other)
      this.members.get(into)?.push(...moved)
      for (const member of moved) this.groupOf.set(member, into)
    }
  }

  /** The chunk that loads the most files, if they are too many. */
  largest(): string | undefined {
    const counted = this.asked
      .filter((name) => this.groupOf.get(name) !== SHELL)
      .map((name) => ({ name, files: this.withImports(name).size }))
    const [most] = counted.sort((a, b) => b.files - a.files || a.name.localeCompare(b.name))
    return most && most.files > MOST_FILES ? most.name : undefined
  }

  /** Returns the two groups, among all that the chunk loads, whose joining adds the least to a visit. */
  bestPair(name: string): string[] | undefined {
    const loaded = [SHELL, ...[...this.withImports(name)].filter((group) => !this.asked.includes(group)).sort()]
    let best: { pair: string[]; cost: number } | undefined
    for (const [place, one] of loaded.entries())
      for (const other of loaded.slice(place + 1)) {
        const pair = one === SHELL ? [SHELL, ...this.withImports(other)] : [one, other]
        const cost = this.costOf(pair)
        if (cost !== undefined && cost < (best?.cost ?? Number.POSITIVE_INFINITY)) best = { pair, cost }
      }
    return best?.pair
  }

  /** The bytes of a visit once these are joined; nothing if they must not be. */
  private costOf(pair: readonly string[]): number | undefined {
    const [into = SHELL] = pair
    if (pair.some((group) => this.asked.includes(group))) return undefined
    const size = pair.reduce((sum, group) => sum + this.sizeOf(group), 0)
    if (size > (into === SHELL ? LARGEST_SHELL : LARGEST_GROUP)) return undefined
    const before = { members: this.members, groupOf: this.groupOf }
    this.members = new Map([...before.members].map(([group, members]) => [group, [...members]]))
    this.groupOf = new Map(before.groupOf)
    this.join(pair)
    const isCircle = into !== SHELL && this.importsItself(into)
    const cost = this.bytesOfVisit()
    this.members = before.members
    this.groupOf = before.groupOf
    return isCircle ? undefined : cost
  }

  /**
   * The bytes that are to be expected in a visit that asks for the home page and then for `VISITED` chunks, any of them
   * alike. Those of the home page count more, because its reader waits for them.
   */
  private bytesOfVisit(): number {
    const users = new Map<string, number>()
    for (const name of this.asked)
      for (const group of this.withImports(name)) users.set(group, (users.get(group) ?? 0) + 1)
    const missed = 1 - VISITED / this.asked.length
    const ofHome = this.withImports(this.home)
    const weight = (group: string, n: number) => (ofHome.has(group) ? FIRST : 1 - missed ** n)
    const begin = FIRST * this.sizeOf(SHELL)
    return [...users].reduce((sum, [group, n]) => sum + this.sizeOf(group) * weight(group, n), begin)
  }

  /** Two files that import each other may run in an order in which one finds nothing in the other yet. */
  private importsItself(group: string): boolean {
    return [...this.withImports(group)].some(
      (other) =>
        other !== group &&
        (this.members.get(other) ?? []).some((member) =>
          this.chunks.get(member)?.imports.some((next) => this.groupOf.get(next) === group),
        ),
    )
  }

  private sizeOf(group: string): number {
    return (this.members.get(group) ?? []).reduce((sum, name) => sum + (this.chunks.get(name)?.size ?? 0), 0)
  }

  result(first: string): Joined {
    const shell = (this.members.get(SHELL) ?? []).filter((name) => name !== first)
    const groups = [...this.members]
      .filter(([group, members]) => group !== SHELL && members.length > 1)
      .map(([group, members]) => ({
        members,
        neededBy: this.asked.filter((name) => this.withImports(name).has(group)),
      }))
    return { shell, groups }
  }
}
