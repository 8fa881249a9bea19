/**
 * The versions that the server returned for changes of this page. What the page shows was patched with them, or asked
 * for after them, so an event that is not newer tells it nothing.
 */
const written = new Map<string, number>()

export const wrote = (id: string, version: number): void => void written.set(id, Math.max(version, versionWritten(id)))

/** Returns the version after the last change of a record by this page; 0: it changed none. */
export const versionWritten = (id: string): number => written.get(id) ?? 0
