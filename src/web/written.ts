/**
 * The versions that the server returned for changes of this page. The page shows these versions already, so an event
 * with the same version or an older one needs no reload.
 */
const written = new Map<string, number>()

export const wrote = (id: string, version: number): void => void written.set(id, Math.max(version, versionWritten(id)))

/** Returns the version after this page's last change of a record; 0 if it made none. */
export const versionWritten = (id: string): number => written.get(id) ?? 0
