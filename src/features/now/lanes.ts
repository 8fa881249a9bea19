import type { Ctx } from '../../action.ts'
import { type ActorRow, groupActor, toPublicActor } from '../../events/actor.ts'
import type { StaffLine } from '../../events/staff-lines.ts'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import type { LeaseProgress } from '../tasks/leases/stalled.ts'
import { taskPermissions } from '../tasks/refusals.ts'
import type { FoundTask } from '../tasks/rows.ts'
import type { Lease } from '../tasks/schema.ts'
import type { Lane } from './schema.ts'

/** Sorts held tasks and changes into lanes: each person, followed by their agents. */

export type LeasedTask = FoundTask & { lease: Lease }

export interface ChangeMark extends ActorRow {
  id: string
  at: string
  line: StaffLine
  subjectId: string | null
  credentialId: string | null
}

interface LaneFacts {
  held: readonly LeasedTask[]
  /** Newest first. */
  marks: readonly ChangeMark[]
  waiting: Map<string, Lane['waiting']>
  calls: Map<string, Lane['calls']>
  /** What agents have done, by the id of the task that they hold. */
  progress: ReadonlyMap<string, LeaseProgress>
}

const laneKey = ({ type, id }: Pick<UserOrAgent, 'type' | 'id'>): string => `${type} ${id}`
const userOrAgentOf = (row: ChangeMark): UserOrAgent => {
  const { type, ...who } = toPublicActor(groupActor(row).actor)
  return { type: type === 'agent' ? 'agent' : 'user', ...who }
}

export function buildLanes(ctx: Ctx, facts: LaneFacts): Lane[] {
  const marksOf = Map.groupBy(facts.marks, (mark) => laneKey(userOrAgentOf(mark)))
  const lanes: Lane[] = []
  const shown = new Set<string>()
  for (const held of facts.held) {
    const name = laneKey(held.lease.holder)
    const all = marksOf.get(name) ?? []
    // A holder of several tasks has a lane for each. The first shows all changes, the others those of their task.
    const marks = shown.has(name) ? all.filter(({ subjectId }) => subjectId === held.task.id) : all
    lanes.push(heldLane(ctx, held, marks, facts))
    shown.add(name)
  }
  for (const [name, [first, ...others]] of marksOf)
    if (first && !shown.has(name)) lanes.push(idleLane(userOrAgentOf(first), [first, ...others], facts))
  return inGroups(lanes)
}

function heldLane(
  ctx: Ctx,
  held: LeasedTask,
  marks: readonly ChangeMark[],
  { waiting, calls, progress }: LaneFacts,
): Lane {
  const { task, lease } = held
  const { id, key, title, status, version } = task
  // For people, changes before the requested hours are not looked up.
  const lastMark = marks[0] && marks[0].at > lease.since ? marks[0].at : lease.since
  const { stalled, lastChangeAt } = progress.get(id) ?? { stalled: false, lastChangeAt: lastMark }
  const { update, release, comment } = taskPermissions(ctx, held)
  return {
    party: lease.holder,
    for: lease.holder.for ?? null,
    task: { id, key, title, status, version },
    lease: {
      since: lease.since,
      why: lease.why,
      lastSeenAt: lease.lastSeenAt,
      expiresAt: lease.expiresAt,
      sessionId: lease.sessionId,
    },
    stalled,
    lastChangeAt,
    waiting: (waiting.get(id) ?? []).map((one) => ({ id: one.id, key: one.key, title: one.title })),
    marks: toMarks(marks),
    calls: callsOf(calls, lease.holder, [held.leaseCredentialId, ...marks.map((mark) => mark.credentialId)]),
    can: { update, release, comment },
  }
}

const idleLane = (party: UserOrAgent, marks: readonly ChangeMark[], { calls }: Pick<LaneFacts, 'calls'>): Lane => ({
  party,
  for: party.for ?? null,
  task: null,
  lease: null,
  stalled: false,
  lastChangeAt: marks[0]?.at ?? null,
  waiting: [],
  marks: toMarks(marks),
  calls: callsOf(
    calls,
    party,
    marks.map((mark) => mark.credentialId),
  ),
})

const toMarks = (marks: readonly ChangeMark[]): Lane['marks'] =>
  marks.map(({ id, at, line }) => ({ at, line, eventId: id })).toReversed()

/** People's calls are not shown: pages make them automatically. */
function callsOf(
  calls: LaneFacts['calls'],
  { type }: UserOrAgent,
  credentials: readonly (string | null)[],
): Lane['calls'] {
  if (type !== 'agent') return []
  const all = [...new Set(credentials)].flatMap((id) => calls.get(id ?? '') ?? [])
  const sums = new Map<string, number>()
  for (const { minute, n } of all) sums.set(minute, (sums.get(minute) ?? 0) + n)
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([minute, n]) => ({ minute, n }))
}

/** An agent comes after the person it works for, who always gets a lane. Groups with a stalled agent come first. */
function inGroups(lanes: readonly Lane[]): Lane[] {
  const groups = Map.groupBy(lanes, ({ party, for: person }) =>
    party.type === 'agent' && person ? `user ${person.id}` : laneKey(party),
  )
  const sorted = [...groups.values()].map((group) => {
    const agents = group.filter(({ party }) => party.type === 'agent')
    const people = group.filter(({ party }) => party.type === 'user')
    const person = agents.find((lane) => lane.for)?.for
    const head = people.length > 0 || !person ? people : [idleHead({ type: 'user', ...person })]
    return [...head, ...agents.sort((a, b) => Number(b.stalled) - Number(a.stalled))]
  })
  const rank = (group: readonly Lane[]): number =>
    group.some(({ stalled }) => stalled) ? 0 : group.some(({ lease }) => lease) ? 1 : 2
  return sorted.sort((a, b) => rank(a) - rank(b)).flat()
}

const idleHead = (party: UserOrAgent): Lane => idleLane(party, [], { calls: new Map() })
