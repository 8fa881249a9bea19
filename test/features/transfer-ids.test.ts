import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Ids } from '../../src/features/transfer/ids.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

test('a set of ids contains each once, in the order of adding', () => {
  // Few different ids, so that some are added twice.
  const id = fc.oneof(fc.uuid(), fc.constantFrom(...Array.from({ length: 20 }, () => Bun.randomUUIDv7())))
  fc.assert(
    fc.property(fc.array(id, { maxLength: 300 }), fc.array(id, { maxLength: 20 }), (added, asked) => {
      const [ids, expected] = [new Ids(), new Set<string>()]
      for (const one of added) {
        ids.add(one)
        expected.add(one)
      }
      const lists = [...ids.lists(7)].map((list) => list.slice(1, -1).split(','))
      expect(lists.flat()).toEqual([...expected])
      expect(lists.slice(0, -1).every(({ length }) => length === 7)).toBe(true)
      expect(ids.size).toBe(expected.size)
      for (const one of [...added, ...asked]) expect(ids.has(one)).toBe(expected.has(one))
    }),
  )
})

test('a set of ids contains no invalid id', () => {
  const ids = new Ids()
  ids.add('00000000-0000-0000-0000-000000000000')
  for (const text of ['', 'undefined', '0'.repeat(36), 'g0000000-0000-0000-0000-000000000000'])
    expect(ids.has(text)).toBe(false)
  expect(() => ids.add('undefined')).toThrow('undefined is no id')
})
