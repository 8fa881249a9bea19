import { kindInfo, type RecordName, recordNames } from '../../src/records/names.ts'
import { type Person, unique } from './app.ts'
import { EXAMPLE_TOKEN } from './code-host.ts'

export interface MadeRecord {
  id: string
  slug: string
  key: string
}

interface Text {
  title: string
  text: string
}
export type Words = (kind: RecordName) => Text

/** Returns the path below `/api` and the body that create the record. `id` returns that of a record of an earlier row. */
type Row = (words: Text, id: (kind: RecordName) => string) => [path: string, body: object]

/** THE ONE PLACE IN THE TESTS THAT LISTS THE KINDS: a new kind needs a row here, and all tests over kinds include it. */
const rows: Record<RecordName, Row> = {
  project: ({ title, text }) => ['/projects', { name: title, description: text }],
  epic: ({ title, text }, id) => [`/projects/${id('project')}/epics`, { title, description: text }],
  story: ({ title, text }, id) => [
    `/projects/${id('project')}/epics/${id('epic')}/stories`,
    { title, description: text },
  ],
  task: ({ title, text }, id) => [`/projects/${id('project')}/tasks`, { title, description: text }],
  feature: ({ title, text }, id) => [`/projects/${id('project')}/features`, { title, description: text }],
  note: ({ title, text }, id) => ['/notes', { title, content: text, projectId: id('project'), scope: 'team' }],
  memory: ({ title, text }, id) => ['/memories', { title, content: text, scope: 'project', scopeId: id('project') }],
  decision: ({ title, text }, id) => ['/decisions', { title, decision: text, projectId: id('project') }],
  spec: ({ title, text }, id) => ['/specs', { title, content: text, projectId: id('project') }],
  session: ({ title, text }, id) => ['/sessions', { goals: [title], context: text, projectId: id('project') }],
  skill: ({ title, text }) => ['/skills', { name: title, content: text, scope: 'team' }],
  agent: ({ title, text }) => ['/agents', { name: title, persona: text, scope: 'team' }],
  repository: (_, id) => ['/repos', { repo: 'tutti/tutti', projectId: id('project') }],
}

/**
 * Creates one record of each of these kinds, all in one new project where the kind allows it, so `kinds` must include
 * `project`. A repository needs `sharedApp`, which has a code host. `more` adds fields to the body of a kind.
 */
export async function oneOfEach<K extends RecordName = RecordName>(
  who: Person,
  {
    kinds = recordNames as readonly K[],
    words = (kind) => ({ title: unique(kind), text: 'Some text.' }),
    more = {},
  }: { kinds?: readonly K[]; words?: Words; more?: Partial<Record<RecordName, object>> } = {},
): Promise<Record<K, MadeRecord>> {
  const made = new Map<RecordName, MadeRecord>()
  const id = (kind: RecordName): string => {
    const record = made.get(kind)
    if (!record) throw new Error(`A ${kind} was not created before the records that belong to it.`)
    return record.id
  }
  const wanted: readonly RecordName[] = kinds
  // The compiler says so too, but a test that is run alone does not ask it.
  for (const kind of wanted) if (!rows[kind]) throw new Error(`Add a row for ${kind} to test/support/records.ts.`)
  if (wanted.includes('repository'))
    await who.fetch('PUT', '/api/settings/integrations/user/github', { secret: EXAMPLE_TOKEN })
  for (const kind of (Object.keys(rows) as RecordName[]).filter((name) => wanted.includes(name))) {
    const [path, body] = rows[kind](words(kind), id)
    const answer = await who.fetch<MadeRecord>('POST', `/api${path}`, { ...body, ...more[kind] })
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    made.set(kind, answer.body)
  }
  return Object.fromEntries(made) as Record<K, MadeRecord>
}

/** Returns the path by which a record that `oneOfEach` made is deleted. */
export function deletionPath(made: Partial<Record<RecordName, MadeRecord>>, kind: RecordName): string {
  const within = { epic: '/epics', story: `/epics/${made.epic?.id}/stories`, feature: '/features' } as const
  const base =
    kind in within ? `/projects/${made.project?.id}${within[kind as keyof typeof within]}` : kindInfo(kind).path
  return `/api${base}/${made[kind]?.id}`
}

const containers: readonly RecordName[] = ['story', 'epic', 'project']
/** Sorts kinds so that those that contain others come last: deleting one deletes what it contains. */
export const containersLast = <K extends RecordName>(kinds: readonly K[]): K[] =>
  kinds.toSorted((a, b) => containers.indexOf(a) - containers.indexOf(b))

/** For `words`: titles that contain this word, and texts that do not. */
export const titled =
  (word: string) =>
  (kind: RecordName): Text => ({ title: `The ${kind} ${word}`, text: 'Some text.' })
