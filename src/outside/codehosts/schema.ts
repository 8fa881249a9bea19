import { bool, instant, int, nullable, object, oneOf, type Static, text, url } from '../../schema.ts'

/** The code hosts we can talk to. */
export const codeHosts = ['github', 'gitea', 'gitlab'] as const
export type CodeHost = (typeof codeHosts)[number]

export const sha = text(64, { example: '3f98b0f1c2d4e5a6b7c8d9e0f1a2b3c4d5e6f708' })
export const branch = text(250, { example: 'main' })

export const Commit = object({
  sha,
  title: text(200, { example: 'Lock the data folder' }),
  author: nullable(text(100, { example: 'Ada Lovelace' })),
  at: nullable(instant()),
})
export type Commit = Static<typeof Commit>

export const Pull = object({
  number: int({ min: 1, example: 7 }),
  title: text(200, { example: 'Lock the data folder' }),
  url: url({ example: 'https://github.com/tutti/tutti/pull/7' }),
  head: text(250, { example: 'lock' }),
  base: branch,
  author: nullable(text(100, { example: 'ada' })),
})
export type Pull = Static<typeof Pull>

/** A repository as its code host describes it. */
export const Hosted = object({
  provider: oneOf(codeHosts),
  owner: text(200, { example: 'tutti' }),
  name: text(100, { example: 'tutti' }),
  url: url({ example: 'https://github.com/tutti/tutti' }),
  private: bool(),
  defaultBranch: nullable(branch),
})
export type Hosted = Static<typeof Hosted>
