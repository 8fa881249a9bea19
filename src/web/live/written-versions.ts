/**
 * The versions that the server returned for changes of this page. The page shows these versions already, so an event
 * with the same version or an older one needs no reload.
 */
const writtenVersions = new Map<string, number>()

export const recordWrittenVersion = (id: string, version: number): void =>
  void writtenVersions.set(id, Math.max(version, lastWrittenVersion(id)))

/** Returns the version after this page's last change of a record; 0 if it made none. */
export const lastWrittenVersion = (id: string): number => writtenVersions.get(id) ?? 0

const lastWrites = new Map<string, Promise<unknown>>()

/**
 * Sends a change after the changes of the same records that this page sent before: each needs the version that the one
 * before returned.
 */
export async function writeInTurn<T>(ids: readonly string[], write: () => Promise<T>): Promise<T> {
  const before = ids.flatMap((id) => lastWrites.get(id) ?? [])
  const result = Promise.allSettled(before).then(write)
  for (const id of ids) lastWrites.set(id, result)
  try {
    return await result
  } finally {
    for (const id of ids) if (lastWrites.get(id) === result) lastWrites.delete(id)
  }
}

/** Changes one record in turn, at the newest version that the page knows. `shown` returns the version on the page. */
export const writeNext = <T extends { data: { version: number } }>(
  id: string,
  shown: () => number,
  write: (version: number) => Promise<T>,
): Promise<T> =>
  writeInTurn([id], async () => {
    const result = await write(Math.max(shown(), lastWrittenVersion(id)))
    recordWrittenVersion(id, result.data.version)
    return result
  })
