import type { Now } from '../../src/features/now/schema.ts'
import { fullName } from '../../src/records/user-or-agent.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { withQuery } from '../api/reference.ts'
import { printNote, printResult, tableLines } from '../terminal/output.ts'
import { timeAgo, timeLeft } from '../terminal/times.ts'

interface Options extends ServerChoice {
  json?: boolean
  hours?: string
}

/** Prints who holds which task. The JSON also contains those who hold none, with their recent activity. */
export async function showNow({ json, hours, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const now = await withHints(client, () => client.get<Now>(withQuery('/api/now', { hours })))
  const held = now.lanes.flatMap((lane) => (lane.lease ? [{ ...lane, lease: lane.lease }] : []))
  const lines = tableLines(held, [
    { title: 'Who', of: ({ party }) => fullName(party) },
    { title: 'Task', of: ({ task }) => task && `${task.key} ${task.title}`, wide: true },
    { title: 'Why', of: ({ lease }) => lease.why },
    { title: 'Last call', of: ({ lease }) => timeAgo(lease.lastSeenAt) },
    { title: 'Last change', of: ({ lastChangeAt }) => lastChangeAt && timeAgo(lastChangeAt) },
    { title: 'State', of: ({ stalled, lease }) => (stalled ? 'stalled' : timeLeft(lease.expiresAt)) },
  ])
  printResult(json, now, ...(held.length > 0 ? lines : []))
  if (held.length === 0 && !json) printNote('No one holds a task now.')
}
