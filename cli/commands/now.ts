import type { Now } from '../../src/features/now/schema.ts'
import { inFull } from '../../src/records/party.ts'
import { helped } from '../api/hints.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { query } from '../api/reference.ts'
import { note, print, table } from '../terminal/output.ts'
import { ago, left } from '../terminal/times.ts'

interface Options extends Where {
  json?: boolean
  hours?: string
}

/** Prints who holds which task. The JSON also contains those who hold none, with their recent activity. */
export async function showNow({ json, hours, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const now = await helped(client, () => client.get<Now>(query('/api/now', { hours })))
  const held = now.lanes.flatMap((lane) => (lane.lease ? [{ ...lane, lease: lane.lease }] : []))
  const lines = table(held, [
    { title: 'Who', of: ({ party }) => inFull(party) },
    { title: 'Task', of: ({ task }) => task && `${task.key} ${task.title}`, wide: true },
    { title: 'Why', of: ({ lease }) => lease.why },
    { title: 'Last call', of: ({ lease }) => ago(lease.lastSeenAt) },
    { title: 'Last change', of: ({ lastChangeAt }) => lastChangeAt && ago(lastChangeAt) },
    { title: 'State', of: ({ stalled, lease }) => (stalled ? 'stalled' : left(lease.expiresAt)) },
  ])
  print(json, now, ...(held.length > 0 ? lines : []))
  if (held.length === 0 && !json) note('No one holds a task now.')
}
