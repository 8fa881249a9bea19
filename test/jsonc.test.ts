import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Key, put, withValue } from '../cli/agents/jsonc.ts'

describe('a value is put into JSON with comments', () => {
  test.each([
    ['nothing', '', ['a', 'b'], '{\n  "a": {\n    "b": 1\n  }\n}\n'],
    ['an empty object', '{}', ['a'], '{\n  "a": 1\n}'],
    ['beside others', '{\n    "x": 0\n}\n', ['a'], '{\n    "x": 0,\n    "a": 1\n}\n'],
    ['in their style', '{\n\t"x": [\n\t\t0,\n\t],\n}\n', ['x', 1], '{\n\t"x": [\n\t\t0,\n\t\t1,\n\t],\n}\n'],
    ['on one line', '{"x":{"y":2}}', ['x', 'a'], '{"x":{"y":2,\n  "a": 1\n}}'],
    ['in the place of another', '{"a": {"old": [1]}, "b": 2} // end', ['a'], '{"a": 1, "b": 2} // end'],
    [
      'behind comments',
      '// top\n{\n  "x": 0 // mine\n  /* last, */\n}\n',
      ['a'],
      '// top\n{\n  "x": 0, // mine\n  /* last, */\n  "a": 1\n}\n',
    ],
    ['where only a comment is', '{\n  // "a": 2\n}', ['a'], '{\n  // "a": 2\n  "a": 1\n}'],
    [
      'what looks like one in a text',
      '{"u": "http://x//*", "q\\"//": 1}',
      ['b'],
      '{"u": "http://x//*", "q\\"//": 1,\n  "b": 1\n}',
    ],
    ['the last of two alike', '{"a": 0, "a": 2}', ['a'], '{"a": 0, "a": 1}'],
    ['with other ends of lines', '{\r\n  "x": 0\r\n}\r\n', ['a'], '{\r\n  "x": 0,\r\n  "a": 1\r\n}\r\n'],
  ] as [string, string, Key[], string][])('%s', (_, before, path, after) => {
    expect(put(before, path, 1)).toBe(after)
  })

  test('whatever there is, only that is changed, and a second time nothing', () => {
    const key = fc.constantFrom('a', 'b', 'mcpServers', 'x y', '"', '__proto__x')
    const settings = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
    const space = fc.constantFrom<string | undefined>(undefined, '  ', '    ', '\t')
    fc.assert(
      fc.property(
        settings,
        fc.array(key, { minLength: 1, maxLength: 3 }),
        fc.jsonValue({ maxDepth: 2 }),
        space,
        (before, path, value, indent) => {
          const text = JSON.stringify(before, null, indent)
          const wanted = JSON.parse(JSON.stringify(withValue(before, path, value))) as unknown
          const through = path
            .slice(0, -1)
            .reduce<unknown>((at, k) => (at as Record<string, unknown> | undefined)?.[k], before)
          // A list where a name is to be found is refused by who calls.
          fc.pre(
            !path.some((_, i) =>
              Array.isArray(path.slice(0, i).reduce<unknown>((at, k) => (at as never)?.[k], before)),
            ) && !Array.isArray(through),
          )
          const after = put(text, path, value)
          expect(JSON.parse(after)).toEqual(wanted)
          expect(put(after, path, value)).toBe(after)
        },
      ),
      { numRuns: 500 },
    )
  })
})
