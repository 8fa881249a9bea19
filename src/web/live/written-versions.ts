/**
 * The versions that the server returned for changes of this page. The page shows these versions already, so an event
 * with the same version or an older one needs no reload.
 */
const writtenVersions = new Map<string, number>()

export const recordWrittenVersion = (id: string, version: number): void =>
  void writtenVersions.set(id, Math.max(version, lastWrittenVersion(id)))

/** Returns the version after this page's last change of a record; 0 if it made none. */
export const lastWrittenVersion = (id: string): number => writtenVersions.get(id) ?? 0
