import type { Change, ChangePage, Undone } from '../../src/features/changes/schema.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { withQuery } from '../api/reference.ts'
import { waitForChange } from '../nouns/work/task-changes.ts'
import { type Column, printNote, printResult, tableLines } from '../terminal/output.ts'
import { timeAgo } from '../terminal/times.ts'

interface Options extends ServerChoice {
  json?: boolean
  list?: boolean
}

/** Undoes the change with this id, or the newest one of this sign-in. */
export async function undo(id: string | undefined, { json, list, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  if (list) {
    const { items } = await withHints(client, () => client.get<ChangePage>(withQuery('/api/changes', { limit: '50' })))
    printResult(json, items, ...(items.length > 0 ? tableLines(items, columns) : []))
    if (items.length === 0 && !json) printNote('You have changed no task in the last hour.')
    return
  }
  const change = id ?? (await withHints(client, () => client.get<ChangePage>(newest))).items[0]?.id
  if (!change) {
    printResult(json, null)
    if (!json)
      printNote('There is no change of the last 10 minutes to undo. List those of the last hour: tutti undo --list')
    return
  }
  const path = `/api/changes/${encodeURIComponent(change)}/undo`
  const undone = await withHints(client, async () => {
    const begun = await client.post<Undone>(path)
    if (begun.state !== 'undoing') return begun
    await waitForChange(client, begun.id)
    return client.post<Undone>(path)
  })
  printResult(json, undone, `Undone: ${undone.label}`, ...undone.kept.map(describeKept))
}

const newest = '/api/changes?recent=true&limit=1'

const columns: Column<Change>[] = [
  { title: 'Id', of: ({ id }) => id },
  { title: 'Change', of: ({ label }) => label, wide: true },
  { title: 'State', of: ({ state }) => state },
  { title: 'When', of: ({ createdAt }) => timeAgo(createdAt) },
]

const describeKept = ({ key, fields, reason }: Undone['kept'][number]): string =>
  `${key ?? 'A task'} keeps ${fields.join(', ')}: ${reason}`
