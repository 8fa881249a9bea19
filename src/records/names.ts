interface Facts {
  /** Where they are listed and, with an id behind it, read: below `/api`. None: they are read below their project. */
  readonly path?: string
  /** The noun of the command line that lists them. */
  readonly noun?: string
  /** People call them by a name or slug, so that a wrong one may be nearly right. */
  readonly named?: true
  /** Search finds them. */
  readonly searchable?: true
  /** Searching memory can find them too. */
  readonly recalled?: true
  /** A task's key in their text counts as a mention of the task. */
  readonly mentions?: true
}

/**
 * THE LIST OF KINDS OF RECORDS, one line each. It is plain data, because schemas and the command line need it before any feature is
 * loaded. Everything else about a kind stands in its feature's `record.ts` (`RecordKind` in kind.ts).
 */
export const facts = {
  memory: { path: '/memories', noun: 'memory', searchable: true, recalled: true, mentions: true },
  note: { path: '/notes', noun: 'notes', named: true, searchable: true, recalled: true, mentions: true },
  decision: { path: '/decisions', noun: 'decisions', named: true, searchable: true, recalled: true, mentions: true },
  spec: { path: '/specs', noun: 'specs', named: true, searchable: true, recalled: true, mentions: true },
  task: { path: '/tasks', noun: 'tasks', named: true, searchable: true, recalled: true },
  session: { path: '/sessions', noun: 'sessions', searchable: true, recalled: true },
  project: { path: '/projects', noun: 'projects', named: true, searchable: true },
  epic: { searchable: true },
  story: { searchable: true },
  feature: { path: '/features', noun: 'features', searchable: true, mentions: true },
  skill: { path: '/skills', noun: 'skills', named: true, searchable: true },
  agent: { path: '/agents', noun: 'agents', named: true, searchable: true },
  repository: { path: '/repos' },
} as const satisfies Record<string, Facts>

type With<F extends keyof Facts> = {
  [K in RecordName]: (typeof facts)[K] extends Record<F, true> ? K : never
}[RecordName]

export type RecordName = keyof typeof facts
export type SearchName = With<'searchable'>
export type RecallName = With<'recalled'>

const having = <F extends keyof Facts>(fact: F): readonly With<F>[] =>
  recordNames.filter((name): name is With<F> => (facts[name] as Facts)[fact] === true)

export const recordNames = Object.keys(facts) as readonly RecordName[]
export const searchNames: readonly SearchName[] = having('searchable')
export const recallNames: readonly RecallName[] = having('recalled')
export const mentionNames = having('mentions')

export const factsOf = (name: RecordName): Facts => facts[name]
