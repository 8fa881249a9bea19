interface KindInfo {
  /** The path of their list below `/api`; `path/id` reads one. Without it they are read below their project. */
  readonly path?: string
  /** Their noun on the command line: `tutti notes list`. */
  readonly noun?: string
  /** People name them by slug, name or title, so that similar ones can be suggested for a misspelt one. */
  readonly named?: true
  /** Search finds them. */
  readonly searchable?: true
  /** Searching memory can find them too. */
  readonly recalled?: true
  /** The key of a task in their text is a mention of the task. */
  readonly mentions?: true
}

/**
 * THE LIST OF KINDS OF RECORDS, one line each. It is plain data, because schemas and the command line need it before
 * any feature is loaded. Everything else about a kind is in its feature's `record.ts` (`RecordKind` in kind.ts). A name
 * is one lower-case word without hyphens, because MCP addresses (`tutti://note/…`) and types of events contain it.
 */
export const kinds = {
  memory: { path: '/memories', noun: 'memory', searchable: true, recalled: true, mentions: true },
  note: { path: '/notes', noun: 'notes', named: true, searchable: true, recalled: true, mentions: true },
  decision: { path: '/decisions', noun: 'decisions', named: true, searchable: true, recalled: true, mentions: true },
  spec: { path: '/specs', noun: 'specs', named: true, searchable: true, recalled: true, mentions: true },
  task: { path: '/tasks', noun: 'tasks', named: true, searchable: true, recalled: true },
  session: { path: '/sessions', noun: 'sessions', searchable: true, recalled: true },
  project: { path: '/projects', noun: 'projects', named: true, searchable: true },
  epic: { noun: 'epics', searchable: true },
  story: { noun: 'stories', searchable: true },
  feature: { path: '/features', noun: 'features', searchable: true, mentions: true },
  skill: { path: '/skills', noun: 'skills', named: true, searchable: true },
  agent: { path: '/agents', noun: 'agents', named: true, searchable: true },
  repository: { path: '/repos', noun: 'repositories' },
} as const satisfies Record<string, KindInfo>

type With<F extends keyof KindInfo> = {
  [K in RecordName]: (typeof kinds)[K] extends Record<F, true> ? K : never
}[RecordName]

export type RecordName = keyof typeof kinds
export type SearchName = With<'searchable'>
export type RecallName = With<'recalled'>

const having = <F extends keyof KindInfo>(fact: F): readonly With<F>[] =>
  recordNames.filter((name): name is With<F> => (kinds[name] as KindInfo)[fact] === true)

export const recordNames = Object.keys(kinds) as readonly RecordName[]
export const searchNames: readonly SearchName[] = having('searchable')
export const recallNames: readonly RecallName[] = having('recalled')
export const mentionNames = having('mentions')

export const kindInfo = (name: RecordName): KindInfo => kinds[name]
