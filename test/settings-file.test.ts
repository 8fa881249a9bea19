import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Key, setJson, withValue } from '../cli/agents/settings-file.ts'

/** The same cases in every run; to look further, change it for a while. */
fc.configureGlobal({ seed: 20261115 })

describe('setting a value in JSON with comments', () => {
  test.each([
    ['in an empty file', '', ['a', 'b'], '{\n  "a": {\n    "b": 1\n  }\n}\n'],
    ['in an empty object', '{}', ['a'], '{\n  "a": 1\n}'],
    ['with the indentation of the file', '{\n    "x": 0\n}\n', ['a'], '{\n    "a": 1,\n    "x": 0\n}\n'],
    ['with tabs, and a trailing comma', '{\n\t"x": [\n\t\t0,\n\t],\n}\n', ['x', 1], '{\n\t"x": [\n\t\t0,\n\t\t1,\n\t],\n}\n'],
    ['with the line ends of the file', '{\r\n  "x": 0\r\n}\r\n', ['a'], '{\r\n  "a": 1,\r\n  "x": 0\r\n}\r\n'],
    ['in the place of another value', '{"a": {"old": [1]}, "b": 2} // end', ['a'], '{"a": 1, "b": 2} // end'],
    [
      'without separating comments from their lines',
      '// top\n{\n  // first\n  "x": { "y": 0 } // mine\n  /* last, */\n}\n',
      ['a'],
      '// top\n{\n  "a": 1,\n  // first\n  "x": { "y": 0 } // mine\n  /* last, */\n}\n',
    ],
    ['where there is only a comment', '{\n  // "a": 2\n}', ['a'], '{\n  "a": 1\n  // "a": 2\n}'],
  ] as [string, string, Key[], string][])('%s', (_, before, path, after) => {
    expect(setJson(before, path, 1)).toBe(after)
  }) // biome-ignore format: a table

  test('is refused if the path leads through a value that is not an object', () => {
    for (const text of ['{"m": null}', '{"m": "x"}', '{"m": [1]}']) expect(setJson(text, ['m', 'a'], 1)).toBeUndefined()
  })

  test('changes only that value, also when repeated', () => {
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
          const after = setJson(JSON.stringify(before, null, indent), path, value)
          if (after === undefined) return
          const wanted: unknown = JSON.parse(JSON.stringify(withValue(before, path, value)))
          expect(JSON.parse(after)).toEqual(wanted)
          expect(JSON.parse(setJson(after, path, value) as string)).toEqual(wanted)
        },
      ),
      { numRuns: 500 },
    )
  })
})
