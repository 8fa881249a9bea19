import { at, itemIn } from '../api/reference.ts'
import type { Fields } from '../copy/mutation.ts'
import { note, plain, pluralize, print, table } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { ago } from '../terminal/times.ts'
import { exchanged, type Options, opened } from './sync.ts'

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

const shown = (value: unknown): string => plain(typeof value === 'string' ? value : JSON.stringify(value ?? null))

export async function conflicts({ json, ...where }: Options): Promise<void> {
  const { client, copy } = await opened(where)
  const called = ({ entity, recordId }: Conflict): string => {
    const record = copy.find(entity, recordId)
    return shown(record?.title ?? record?.name ?? recordId.slice(0, 13))
  }
  const page = await client.get<{ items: Conflict[] }>('/api/sync/conflicts')
  const lines = table(page.items, [
    { title: 'Id', of: (c) => c.id.slice(0, 13) },
    { title: 'Record', of: (c) => `${c.entity} ${called(c)}` },
    { title: 'Field', of: (c) => c.field ?? c.kind },
    { title: 'Server', of: (c) => shown(c.server), wide: true },
    { title: 'Mine', of: (c) => shown(c.mine) },
    { title: 'When', of: (c) => ago(c.createdAt) },
  ])
  print(json, page, ...(page.items.length > 0 ? lines : []))
  if (json) return
  note(
    page.items.length === 0 ? 'No conflicts.' : 'Resolve one with: tutti sync resolve <id> server (or mine, or value)',
  )
}

export async function resolve(
  ref: string,
  choice: string,
  { json, value, ...where }: Options & { value?: string },
): Promise<void> {
  if (choice === 'value' && value === undefined) throw new Refusal('The choice value needs --value <text>.')
  const all = await opened(where)
  const { id } = await itemIn<Conflict>(all.client, '/api/sync/conflicts', 'conflict', ref)
  const body = { choice, ...(value !== undefined && { value: parsed(value) }) }
  const done = await all.client.post(at('/api/sync/conflicts/:id/resolve', id), body)
  await exchanged(all)
  print(json, done, `Resolved: ${choice === 'server' ? "the server's value stays" : 'your value is stored'}.`)
}

/** Accepts JSON for lists and numbers, and any other text as it is. */
function parsed(text: string): unknown {
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

interface RejectedOptions extends Options {
  retry?: string
  forget?: string
}

/** Lists what the server refused. Nothing is lost: a change can be sent again or dropped. */
export async function rejected({ json, retry, forget, ...where }: RejectedOptions): Promise<void> {
  const { copy } = await opened(where, { local: true })
  const rows = copy.all<Rejected>('select * from rejected order by rejectedAt, mutationId')
  const chosen = retry ?? forget
  if (chosen !== undefined) {
    const some = rows.filter(({ mutationId }) => chosen === 'all' || mutationId.startsWith(chosen.toLowerCase()))
    if (some.length === 0) throw new Refusal(`No rejected change has the id ${chosen}.`, 4)
    if (chosen !== 'all' && some.length > 1) throw new Refusal(`Several ids begin with ${chosen}. Use a longer one.`)
    for (const { mutationId } of some) copy.takeBack(mutationId, retry !== undefined)
    const what = pluralize(some.length, 'change')
    const line = retry === undefined ? `Discarded ${what}.` : `Queued ${what} again. Send with: tutti sync`
    return print(json, { items: some.map(({ mutationId }) => mutationId) }, line)
  }
  const items = rows.map((row) => ({ ...row, fields: JSON.parse(row.fields) as Fields }))
  const lines = table(items, [
    { title: 'Id', of: (r) => r.mutationId },
    { title: 'Record', of: (r) => `${r.entity} ${shown(r.fields.title ?? r.fields.name ?? r.id.slice(0, 13))}` },
    { title: 'Change', of: (r) => (r.op === 'delete' ? 'delete' : Object.keys(r.fields).join(', ')) },
    { title: 'Why', of: (r) => r.detail, wide: true },
  ])
  print(json, { items }, ...(items.length > 0 ? lines : []))
  if (json) return
  if (items.length === 0) note('No rejected changes.')
  else
    note(
      'Queue one again with --retry <id>, or discard it with --forget <id>. With all instead of an id, every change is meant.',
    )
}
