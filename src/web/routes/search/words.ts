export const words = {
  title: 'Search',
  find: 'Search for',
  by: { words: 'Words', meaning: 'Meaning' },
  how: 'Search by',
  kind: 'Kind',
  start: 'Search everything you can see',
  startText:
    'Tasks, notes, decisions, specs, memories and more. You can use “a phrase”, -exclude and or, and filters: label:offline is:open @ada.',
  command: 'tutti search "deploy"',
  none: (q: string) => `No results for “${q}”.`,
  byMeaning: 'Search by meaning instead',
  corrected: (q: string) => `No results as typed. Showing results for “${q}”.`,
  behind: 'Some recent changes are not indexed yet.',
  onlyWords: 'This server searches by words only, because it has no embedding model.',
  answer: 'Answer',
  sources: 'Sources',
  total: (kind: string, n: number) => `${kind}, ${n}`,
  source: (kind: string, near: number | null) =>
    near === null ? kind : `${kind}, ${Math.round(near * 100)} % similar`,
} as const
