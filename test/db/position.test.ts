import { describe, expect, test } from 'bun:test'
import {
  advancePosition,
  decodeCursor,
  encodeCursor,
  hasWriters,
  type Position,
  withWriters,
} from '../../src/events/position.ts'
import { times } from '../features/support.ts'

const start: Position = { high: 0, holes: [] }
const ranges = ({ holes }: Position) => holes.map(({ from, to }) => [from, to])

describe('holes in the event numbers', () => {
  test('are ranges of numbers that a read did not return', () => {
    const seen = advancePosition(start, [1, 2, 5, 9], true)
    expect(seen.high).toBe(9)
    expect(ranges(seen)).toEqual([[3, 4], [6, 8]]) // biome-ignore format: two ranges
  })

  test('shrink and split as their rows appear', () => {
    const seen = withWriters(advancePosition(start, [1, 10], true), ['a'])
    expect(ranges(advancePosition(seen, [2, 5], true))).toEqual([[3, 4], [6, 9]]) // biome-ignore format: two ranges
    expect(ranges(advancePosition(seen, [2, 3, 4, 5, 6, 7, 8, 9], true))).toEqual([])
    expect(advancePosition(seen, [9, 12], true)).toEqual({
      high: 12,
      holes: [
        { from: 2, to: 8, writers: ['a'] },
        { from: 11, to: 11 },
      ],
    })
  })

  test('stay until every transaction from their first sight has ended and one more read is done', () => {
    let seen = withWriters(advancePosition(start, [2], true), ['a', 'b'])
    seen = withWriters(advancePosition(seen, [], true), ['b', 'c'])
    expect([ranges(seen), hasWriters(seen)]).toEqual([[[1, 1]], true])
    seen = withWriters(advancePosition(seen, [], true), ['c'])
    expect([ranges(seen), hasWriters(seen)]).toEqual([[[1, 1]], false])
    expect(ranges(advancePosition(seen, [], true))).toEqual([])
  })

  test('are not given up by a read that did not reach them', () => {
    const seen = withWriters(advancePosition(start, [1, 4, 9], true), [])
    expect(ranges(advancePosition(seen, [2], false))).toEqual([[3, 3], [5, 8]]) // biome-ignore format: two ranges
    expect(ranges(advancePosition(seen, [3], false))).toEqual([[5, 8]])
    expect(ranges(advancePosition(seen, [10], false))).toEqual([])
  })
})

// ---- a model of the database: numbers are taken before the commit, in any order of commits and roll-backs

/** A seeded random generator. */
function chance(seed: number): (below: number) => number {
  let state = seed + 1
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

class Database {
  readonly committed: number[] = []
  readonly #running = new Map<string, number[]>()
  #last = 0
  #ids = 0

  constructor(private readonly random: (below: number) => number) {}

  get running(): string[] {
    return [...this.#running.keys()]
  }

  visible({ high, holes }: Position): number[] {
    return this.committed
      .filter((seq) => seq > high || holes.some(({ from, to }) => from <= seq && seq <= to))
      .sort((a, b) => a - b)
  }

  step(): void {
    const [begin, of, end] = [this.random(3), this.running, this.random(3)]
    const id = of[this.random(of.length)]
    if (begin === 0 || !id) this.#running.set(`t${++this.#ids}`, [])
    else if (end > 0) this.#running.get(id)?.push(++this.#last)
    else this.#end(id)
  }

  finish(): void {
    for (const id of this.running) this.#end(id)
  }

  #end(id: string): void {
    if (this.random(4) > 0) this.committed.push(...(this.#running.get(id) ?? []))
    this.#running.delete(id)
  }
}

/** A read with other transactions between its two statements. */
class Reader {
  readonly delivered: number[] = []
  constructor(
    private readonly database: Database,
    private readonly meanwhile: () => void,
    public position: Position,
  ) {}

  look(limit: number): void {
    const rows = this.database.visible(this.position).slice(0, limit)
    this.delivered.push(...rows)
    this.position = advancePosition(this.position, rows, rows.length < limit)
    this.meanwhile()
    this.position = withWriters(this.position, this.database.running)
  }

  catchUp(): void {
    for (let last = -1; last !== this.delivered.length || this.position.holes.length > 0; ) {
      last = this.delivered.length
      this.look(100)
    }
  }
}

const sortNumbers = (seqs: readonly number[]) => seqs.toSorted((a, b) => a - b)

test('every event is delivered once, whatever the order of commits, roll-backs and reads', () => {
  for (let seed = 0; seed < 3000; seed++) {
    const random = chance(seed)
    const database = new Database(random)
    let going = true
    const meanwhile = () => times(going ? random(3) : 0, () => database.step())
    const reader = new Reader(database, meanwhile, start)
    for (let i = 0; i < 60; i++) {
      database.step()
      if (random(4) === 0) reader.look(1 + random(6))
    }
    going = false
    database.finish()
    reader.catchUp()
    expect({ seed, seqs: sortNumbers(reader.delivered) }).toEqual({ seed, seqs: sortNumbers(database.committed) })
  }
})

test('a client that resumes with a cursor gets each further event once; beyond 64 holes some may repeat', () => {
  let repeated = 0
  for (let seed = 0; seed < 200; seed++) {
    const random = chance(seed)
    const database = new Database(random)
    const reader = new Reader(database, () => undefined, start)
    const long = seed % 50 === 0
    for (let i = 0; i < (long ? 1000 : 50); i++) {
      database.step()
      if (random(long ? 50 : 4) === 0) reader.look(500)
    }
    const cursor = decodeCursor(encodeCursor(crypto.randomUUID(), reader.position))
    database.finish()
    const resumed = new Reader(database, () => undefined, cursor?.position as Position)
    resumed.catchUp()
    const both = [...reader.delivered, ...resumed.delivered]
    expect({ seed, seqs: sortNumbers([...new Set(both)]) }).toEqual({ seed, seqs: sortNumbers(database.committed) })
    if (reader.position.holes.length <= 64)
      expect({ seed, length: both.length }).toEqual({ seed, length: database.committed.length })
    else repeated++
  }
  expect(repeated).toBeGreaterThan(0)
})

describe('an event cursor', () => {
  const epoch = crypto.randomUUID()
  const seen = advancePosition(start, [1, 5, 40, 41, 99], true)

  test('survives encoding and decoding', () => {
    for (const position of [start, seen, { high: 2 ** 40, holes: [] }])
      expect(decodeCursor(encodeCursor(epoch, position))).toEqual({ epoch, position })
  })

  test('keeps at most 64 holes', () => {
    const many = advancePosition(start, times(100, (i) => 2 * i + 2), true) // biome-ignore format: numbers
    const { position } = decodeCursor(encodeCursor(epoch, many)) as { position: Position }
    expect([position.high, position.holes.length]).toEqual([128, 64])
    expect(encodeCursor(epoch, many).length).toBeLessThan(1000)
  })

  test('that is forged is refused', () => {
    const good = encodeCursor(epoch, seen)
    for (const bad of ['', 'h1.', 'h1.x.1.', good.replace('h1', 's1'), `${good}_1-2`, `${good}x`, good.slice(0, -1)])
      expect([bad, decodeCursor(bad)]).toEqual([bad, undefined])
    for (const holes of ['3-2', '0-1', '1-2_2-3', '5-6_1-2', '1', '1-2-3', '1-zz', '-', '_', '01-2'])
      expect([holes, decodeCursor(`h1.${epoch}.a.${holes}`)]).toEqual([holes, undefined])
    expect(decodeCursor(`h1.${epoch}.zzzzzzzzzzz.`)).toBeUndefined()
  })
})
