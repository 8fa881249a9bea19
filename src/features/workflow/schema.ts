import { array, object, optional, type Static, title } from '../../schema.ts'

const list = (example: string) => optional(array(title(500, { example }), 100))

/** What shows that a gate is passed. */
export const Evidence = object({
  summary: title(10_000, { example: 'Folder lock added; a second process exits with a clear line' }),
  files: list('src/db/lock.ts'),
  commits: list('3f98b0f'),
  pullRequests: list('https://git.example.com/tutti/pull/7'),
  testRuns: list('bun test test/db: 214 pass'),
  links: list('https://ci.example.com/run/42'),
})
export type Evidence = Static<typeof Evidence>
