/**
 * Preloaded by bunfig.toml: remembers what argon2id said. Hashing is slow on purpose, the tests ask for the same few passwords thousands of
 * times, and it took a fifth of their time. Each hash and each comparison is real the first time.
 */
const real = { hash: Bun.password.hash, verify: Bun.password.verify }
const hashes = new Map<string, Promise<string>>()
const comparisons = new Map<string, Promise<boolean>>()

function remembered<T>(memory: Map<string, Promise<T>>, parts: readonly unknown[], make: () => Promise<T>): Promise<T> {
  const key = JSON.stringify(parts.map(String))
  const known = memory.get(key)
  if (known) return known
  const made = make()
  memory.set(key, made)
  made.catch(() => memory.delete(key))
  return made
}

const hash: typeof Bun.password.hash = (password, algorithm) =>
  remembered(hashes, [password, JSON.stringify(algorithm)], () => real.hash(password, algorithm))

const verify: typeof Bun.password.verify = (password, known, algorithm) =>
  remembered(comparisons, [password, known, algorithm], () => real.verify(password, known, algorithm))

/** For tests of how long it takes: hashes every time while `work` runs. */
export async function hashingEveryTime(work: () => Promise<void>): Promise<void> {
  Object.assign(Bun.password, real)
  try {
    await work()
  } finally {
    Object.assign(Bun.password, { hash, verify })
  }
}

Object.assign(Bun.password, { hash, verify })
