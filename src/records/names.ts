interface KindInfo {
  /**
   * The path of their list below `/api`; `path/id` reads one, and is the address of its page in the dashboard. Without
   * it they are read below their project.
   */
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
  /** Their texts can hold pictures and files. */
  readonly holdsFiles?: true
  /** Deleted ones can be restored: the trash lists them, and `deleted` in their `record.ts` names the event. */
  readonly restorable?: true
  /** They can be made public: visitors of the site then find and read them. */
  readonly publishable?: true
  /** Public ones are listed in the marketplace. */
  readonly marketed?: true
  /** Their noun on the command line also works with the copy on this computer, without the server. */
  readonly offline?: true
}

/**
 * THE LIST OF KINDS OF RECORDS, with the facts about each. It is plain data, because schemas, the command line and the
 * dashboard need it before any feature is loaded. Everything else about a kind is in its feature's `record.ts`
 * (`RecordKind` in kind.ts). A name is one lower-case word without hyphens, because MCP addresses (`tutti://note/…`)
 * and types of events contain it.
 */
export const kinds = {
  memory: { path: '/memories', noun: 'memory', searchable: true, recalled: true, mentions: true, offline: true },
  note: {
    path: '/notes',
    noun: 'notes',
    named: true,
    searchable: true,
    recalled: true,
    mentions: true,
    holdsFiles: true,
    restorable: true,
    publishable: true,
    offline: true,
  },
  decision: {
    path: '/decisions',
    noun: 'decisions',
    named: true,
    searchable: true,
    recalled: true,
    mentions: true,
    holdsFiles: true,
    offline: true,
  },
  spec: {
    path: '/specs',
    noun: 'specs',
    named: true,
    searchable: true,
    recalled: true,
    mentions: true,
    holdsFiles: true,
  },
  task: {
    path: '/tasks',
    noun: 'tasks',
    named: true,
    searchable: true,
    recalled: true,
    holdsFiles: true,
    restorable: true,
    offline: true,
  },
  session: { path: '/sessions', noun: 'sessions', searchable: true, recalled: true },
  project: {
    path: '/projects',
    noun: 'projects',
    named: true,
    searchable: true,
    restorable: true,
    publishable: true,
    offline: true,
  },
  epic: { noun: 'epics', searchable: true, restorable: true },
  story: { noun: 'stories', searchable: true, restorable: true },
  feature: {
    path: '/features',
    noun: 'features',
    searchable: true,
    mentions: true,
    holdsFiles: true,
    restorable: true,
  },
  skill: {
    path: '/skills',
    noun: 'skills',
    named: true,
    searchable: true,
    restorable: true,
    publishable: true,
    marketed: true,
  },
  agent: {
    path: '/agents',
    noun: 'agents',
    named: true,
    searchable: true,
    restorable: true,
    publishable: true,
    marketed: true,
  },
  repository: { path: '/repos', noun: 'repositories' },
} as const satisfies Record<string, KindInfo>

type With<F extends keyof KindInfo> = {
  [K in RecordName]: (typeof kinds)[K] extends Record<F, true> ? K : never
}[RecordName]

export type RecordName = keyof typeof kinds
export type SearchName = With<'searchable'>
type RecallName = With<'recalled'>
export type RestorableName = With<'restorable'>
export type MarketName = With<'marketed'>

const having = <F extends keyof KindInfo>(fact: F): readonly With<F>[] =>
  recordNames.filter((name): name is With<F> => (kinds[name] as KindInfo)[fact] === true)

export const recordNames = Object.keys(kinds) as readonly RecordName[]
export const searchNames: readonly SearchName[] = having('searchable')
export const recallNames: readonly RecallName[] = having('recalled')
export const mentionNames = having('mentions')
export const holderNames = having('holdsFiles')
export const restorableNames: readonly RestorableName[] = having('restorable')
export const publicNames = having('publishable')
export const marketNames: readonly MarketName[] = having('marketed')
export const offlineNames = having('offline')

/** What a memory can be about. */
export const memoryScopes = ['agent', 'project', 'session'] as const satisfies readonly RecordName[]
export type MemoryScope = (typeof memoryScopes)[number]

export const kindInfo = (name: RecordName): KindInfo => kinds[name]

/** Returns the plural of the name of a kind: `story` → `stories`. */
export const pluralOf = (name: string): string =>
  /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}${/(s|x|z|ch|sh)$/.test(name) ? 'es' : 's'}`

/** Returns the part of an address of the dashboard that names a record: `/tasks/TUT-42`. */
export function recordPathIn(address: string): string | undefined {
  const [, list, ref] = address.split('/')
  return ref && recordNames.some((name) => kindInfo(name).path === `/${list}`) ? `/${list}/${ref}` : undefined
}
