import { type ActorSummary, fullName } from '../../records/user-or-agent.ts'

/** Sums up changes: how many records were completed, created and changed, by whom, and which tasks those are. */

export interface Change {
  /** The verb of its event: `completed`. */
  verb: string
  /** The kind of record: `task`. */
  noun: string
  subjectId: string
  /** The key of a task. */
  key: string | null
  /** The status of a task after the change. */
  status: string | null
  /** How many tasks a plan created. */
  planned: number
  actor: ChangeActor
}

export interface ChangeActor extends Pick<ActorSummary, 'name' | 'for'> {
  /** Tells actors apart: an agent may work for several people. */
  id: string
  isMe: boolean
}

/** What happened to a record, most important first. A record counts once, for the first of these. */
const verbRanks = [
  ...['completed', 'reopened', 'deleted', 'restored', 'reviewed', 'advanced', 'created', 'logged', 'stored', 'changed'],
  ...['commented', 'claimed', 'released'],
]

const verbOf = ({ verb, status }: Change, lastStatus: string | null): string => {
  if (verb === 'completed' && status && lastStatus && lastStatus !== 'done') return 'reopened'
  return verbRanks.includes(verb) ? verb : 'changed'
}

export interface ChangeSums {
  /** How many records changed. */
  records: number
  /** For all actors together: `completed 18: CHA-1…18; created 3: CHA-19…21`. */
  totals: string
  /** For each actor, those with most records first: a short name and a summary. */
  actors: { actor: ChangeActor; short: string; line: string }[]
}

/** Sums up changes, which must be given newest first. */
export function sumUpChanges(changes: readonly Change[]): ChangeSums {
  const lastStatus = new Map<string, string | null>()
  for (const { subjectId, status } of changes) if (!lastStatus.has(subjectId)) lastStatus.set(subjectId, status)
  const byActor = [...Map.groupBy(changes, ({ actor }) => actor.id).values()]
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const actors = byActor
    .map((own) => ({ actor: (own[0] as Change).actor, own, records: recordsIn(own) }))
    .sort((a, b) => Number(b.actor.isMe) - Number(a.actor.isMe) || b.records - a.records)
    .map(({ actor, own }) => {
      const short = actor.isMe ? 'you' : (letters.shift() ?? fullName(actor))
      const name = actor.isMe ? 'you' : short === fullName(actor) ? short : `${short} = ${fullName(actor)}`
      return { actor, short, line: `${name}: ${inWords(own, lastStatus)}` }
    })
  return { records: recordsIn(changes), totals: inWords(changes, lastStatus), actors }
}

const recordsIn = (changes: readonly Change[]): number => new Set(changes.map(({ subjectId }) => subjectId)).size

function inWords(changes: readonly Change[], lastStatus: ReadonlyMap<string, string | null>): string {
  const best = new Map<string, { change: Change; verb: string }>()
  let planned = 0
  for (const change of changes) {
    if (change.noun === 'plan') planned += change.planned
    else {
      const verb = verbOf(change, lastStatus.get(change.subjectId) ?? null)
      const before = best.get(change.subjectId)
      if (!before || verbRanks.indexOf(verb) < verbRanks.indexOf(before.verb))
        best.set(change.subjectId, { change, verb })
    }
  }
  const byVerb = Map.groupBy(best.values(), ({ verb }) => verb)
  const inOrder = verbRanks.flatMap((verb) => {
    const some = byVerb.get(verb)?.map(({ change }) => change)
    return some ? [`${verb} ${countByNoun(some)}`] : []
  })
  return [...inOrder, ...(planned > 0 ? [`planned ${planned}`] : [])].join('; ')
}

/** Returns `18: CHA-1…18` for tasks, which have keys, and then `2 decisions` for each other kind of record. */
function countByNoun(changes: readonly Change[]): string {
  const keys = changes.flatMap(({ key }) => key ?? [])
  const others = Map.groupBy(
    changes.filter(({ key }) => key === null),
    ({ noun }) => noun.replaceAll('_', ' '),
  )
  return [
    ...(keys.length > 0 ? [`${keys.length}: ${keyRanges(keys)}`] : []),
    ...Array.from(others, ([noun, some]) => `${some.length} ${plural(noun, some.length)}`),
  ].join(', ')
}

const plural = (noun: string, n: number): string =>
  n === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`

const MOST_RANGES = 12

/** Returns keys in a short form: `CHA-1…18, 20, LAN-3`. */
export function keyRanges(keys: readonly string[]): string {
  const tasks = [...new Set(keys)].map((key) => {
    const dash = key.lastIndexOf('-')
    return { project: key.slice(0, dash), number: Number(key.slice(dash + 1)) }
  })
  tasks.sort((a, b) => (a.project === b.project ? a.number - b.number : a.project < b.project ? -1 : 1))
  const ranges: { project: string; from: number; to: number }[] = []
  for (const { project, number } of tasks) {
    const last = ranges.at(-1)
    if (last?.project === project && last.to === number - 1) last.to = number
    else ranges.push({ project, from: number, to: number })
  }
  const some = ranges.slice(0, MOST_RANGES).map(({ project, from, to }, n) => {
    const first = ranges[n - 1]?.project === project ? `${from}` : `${project}-${from}`
    return to === from ? first : to === from + 1 ? `${first}, ${to}` : `${first}…${to}`
  })
  return `${some.join(', ')}${ranges.length > MOST_RANGES ? ' and more' : ''}`
}
