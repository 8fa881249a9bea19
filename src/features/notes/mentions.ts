/** Returns the titles that a text mentions as `[[title]]`, in lower case. */
export const mentionsOf = (content: string): string[] =>
  [
    ...new Set([...content.matchAll(/\[\[([^[\]\n]{1,200})\]\]/g)].map((m) => (m[1] as string).trim().toLowerCase())),
  ].slice(0, 200)
