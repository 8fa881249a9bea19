import { findItem, pathTo } from '../../api/reference.ts'
import type { Fields } from '../../copy/mutation.ts'
import { pluralize, printNote, printResult, safeLine, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'
import { exchangeChanges, openCopy, type SyncOptions } from './sync.ts'

interface Conflict {
  id: string
  entity: string
  recordId: string
  field: string | null
  kind: string
  base: unknown
  mine: unknown
  server: unknown
  createdAt: string
}

const displayFieldValue = (value: unknown): string =>
  safeLine(typeof value === 'string' ? value : JSON.stringify(value ?? null))

export async function listConflicts({ json, ...where }: SyncOptions): Promise<void> {
  const { client, copy } = await openCopy(where)
  const called = ({ entity, recordId }: Conflict): string => {
    const record = copy.find(entity, recordId)
    return displayFieldValue(record?.title ?? record?.name ?? recordId.slice(0, 13))
  }
  const page = await client.get<{ items: Conflict[] }>('/api/sync/conflicts')
  const lines = tableLines(page.items, [
    { title: 'Id', of: (c) => c.id.slice(0, 13) },
    { title: 'Record', of: (c) => `${c.entity} ${called(c)}` },
    { title: 'Field', of: (c) => c.field ?? c.kind },
    { title: 'Server', of: (c) => displayFieldValue(c.server), wide: true },
    { title: 'Mine', of: (c) => displayFieldValue(c.mine) },
    { title: 'When', of: (c) => timeAgo(c.createdAt) },
  ])
  printResult(json, page, ...(page.items.length > 0 ? lines : []))
  if (json) return
  printNote(
    page.items.length === 0 ? 'No conflicts.' : 'Resolve one with: tutti sync resolve <id> server (or mine, or value)',
  )
}

export async function resolveConflict(
  ref: string,
  choice: string,
  { json, value, ...where }: SyncOptions & { value?: string },
): Promise<void> {
  if (choice === 'value' && value === undefined) throw new Refusal('The choice value needs --value <text>.')
  const all = await openCopy(where)
  const { id } = await findItem<Conflict>(all.client, '/api/sync/conflicts', 'conflict', ref)
  const body = { choice, ...(value !== undefined && { value: parseValue(value) }) }
  const done = await all.client.post(pathTo('/api/sync/conflicts/:id/resolve', id), body)
  await exchangeChanges(all)
  printResult(json, done, `Resolved: ${choice === 'server' ? "the server's value stays" : 'your value is stored'}.`)
}

/** Accepts JSON for lists and numbers, and any other text as it is. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

interface Rejected {
  mutationId: string
  entity: string
  id: string
  op: string
  fields: string
  code: string
  detail: string
  rejectedAt: string
}

interface RejectedOptions extends SyncOptions {
  retry?: string
  forget?: string
}

/** Lists what the server refused. Nothing is lost: a change can be sent again or dropped. */
export async function listRejected({ json, retry, forget, ...where }: RejectedOptions): Promise<void> {
  const { copy } = await openCopy(where, { local: true })
  const rows = copy.all<Rejected>('select * from rejected order by rejectedAt, mutationId')
  const chosen = retry ?? forget
  if (chosen !== undefined) {
    const some = rows.filter(({ mutationId }) => chosen === 'all' || mutationId.startsWith(chosen.toLowerCase()))
    if (some.length === 0) throw new Refusal(`No rejected change has the id ${chosen}.`, 4)
    if (chosen !== 'all' && some.length > 1) throw new Refusal(`Several ids begin with ${chosen}. Use a longer one.`)
    for (const { mutationId } of some) copy.takeBack(mutationId, retry !== undefined)
    const what = pluralize(some.length, 'change')
    const line = retry === undefined ? `Discarded ${what}.` : `Queued ${what} again. Send with: tutti sync`
    return printResult(json, { items: some.map(({ mutationId }) => mutationId) }, line)
  }
  const items = rows.map((row) => ({ ...row, fields: JSON.parse(row.fields) as Fields }))
  const lines = tableLines(items, [
    { title: 'Id', of: (r) => r.mutationId },
    {
      title: 'Record',
      of: (r) => `${r.entity} ${displayFieldValue(r.fields.title ?? r.fields.name ?? r.id.slice(0, 13))}`,
    },
    { title: 'Change', of: (r) => (r.op === 'delete' ? 'delete' : Object.keys(r.fields).join(', ')) },
    { title: 'Why', of: (r) => r.detail, wide: true },
  ])
  printResult(json, { items }, ...(items.length > 0 ? lines : []))
  if (json) return
  if (items.length === 0) printNote('No rejected changes.')
  else
    printNote(
      'Queue one again with --retry <id>, or discard it with --forget <id>. With all instead of an id, every change is meant.',
    )
}
