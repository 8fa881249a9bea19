import { afterAll } from 'bun:test'

/** Preloaded by bunfig.toml: runs once, when the last test file of the process is done. */
const cleanups: (() => Promise<unknown> | unknown)[] = []
export const atEnd = (clean: () => Promise<unknown> | unknown): void => void cleanups.unshift(clean)

afterAll(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})
