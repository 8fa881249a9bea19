import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { filesOfKind, problemWithName, root } from '../cli/dev/new/generate.ts'

/** `test/full/new-kind.test.ts` runs the command and all checks in a copy of the repository. */
describe('the files of `bun run new policy`', () => {
  test('have the plural in their paths, and names in every spelling', async () => {
    const files = await filesOfKind('policy')
    expect([...files.keys()]).toContain('src/features/policies/service.ts')
    expect(files.get('src/features/policies/events.ts')).toContain("policyCreated = defineEvent('policy.created'")
    expect(files.get('src/records/names.ts')).toContain("policy: { path: '/policies'")
    const fresh = [...files].filter(([path]) => path.includes('policies'))
    expect(fresh.filter(([, text]) => /bookmark/i.test(text))).toEqual([])
  })

  test('import only what exists', async () => {
    const files = await filesOfKind('policy')
    const missing: string[] = []
    for (const [file, text] of files)
      for (const [, names = '', from = ''] of text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']*)'/gm)) {
        const path = normalize(join(dirname(file), from))
        const there = files.get(path) ?? (existsSync(join(root, path)) ? await Bun.file(join(root, path)).text() : '')
        for (const name of names.split(',').flatMap((one) => one.trim().replace(/^type | as .*/g, '') || []))
          if (!new RegExp(`^export [^(=]*\\b${name}\\b`, 'm').test(there)) missing.push(`${file}: ${name} of ${path}`)
      }
    expect(missing).toEqual([])
  })

  test('have the article that fits', async () => {
    const files = await filesOfKind('idea')
    expect(files.get('src/features/ideas/routes.ts')).toContain("'Create an idea'")
  })
})

test.each([
  ['note', 'There is a kind named note already'],
  ['decisions', 'There is a kind named decision already'],
  ['gadgets', 'Use the singular: bun run new gadget'],
  ['tunnel', 'There is a feature named tunnels already'],
  ['passage', 'There is a table named passages already'],
  ['comment', 'Events or exports use the word comment already'],
  ['title', 'The generated code uses the word title'],
  ['class', 'The generated code uses the word class'],
  ['Book-mark', 'one lower-case word'],
])('`bun run new %s` is refused: %s', async (kind, reason) => {
  expect(await problemWithName(kind)).toContain(reason)
})
