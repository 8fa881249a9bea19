import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import type { ImportBatch, ImportResult } from '../../../src/features/transfer/schema.ts'
import { splitLines } from '../../../src/text/lines.ts'
import { signedInClient } from '../../api/profiles.ts'
import { currentTeamId, withQuery } from '../../api/reference.ts'
import { printNote, printResult, safeLine, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import type { SyncOptions } from './sync.ts'

interface Read {
  lines: number
  people: ImportBatch['people']
}

type Line = Partial<ImportBatch['records'][number]> & {
  /** The first line: the teams that the export covers. */
  organizations?: string[]
  people?: ImportBatch['people']
  end?: { count: number; sha256: string }
}

const damagedError = () => new Refusal('This file is not a complete export: it was cut off or changed. Export again.')

/** Reads a file line by line, and refuses an incomplete one. Nothing is sent before this check has passed. */
async function readVerified(path: string, each: (line: Line) => void = () => undefined): Promise<Read> {
  const hash = new Bun.CryptoHasher('sha256')
  let [lines, end]: [number, Line['end']] = [0, undefined]
  let people: ImportBatch['people'] = []
  for await (const text of splitLines(Bun.file(path).stream())) {
    const value = jsonInLine(text)
    if (value === '') continue
    if (end) throw damagedError()
    const line = parseLine(value)
    end = line.end
    if (end) continue
    hash.update(`${value}\n`)
    lines++
    people = line.people ?? people
    each(line)
  }
  if (end?.count !== lines || end.sha256 !== hash.digest('hex')) throw damagedError()
  return { lines, people }
}

/** Returns the JSON value on a line, without the brackets and commas of an export that is a JSON array. */
const jsonInLine = (line: string): string => (line === '[' || line === ']' ? '' : line.replace(/,$/, ''))

function parseLine(text: string): Line {
  try {
    return JSON.parse(text) as Line
  } catch {
    throw damagedError()
  }
}

export async function exportFile(
  path: string,
  { json, project, force, ...where }: SyncOptions & { project?: string; force?: boolean },
): Promise<void> {
  if (existsSync(path) && !force) throw new Refusal(`${path} already exists. Use --force to replace it.`, 5)
  const { client } = signedInClient(where)
  // Without a team the server would export all of them, and an import goes into one.
  const organizationId = await currentTeamId(client)
  const asked = withQuery('/api/sync/export', { project, format: 'ndjson', ...(!project && { organizationId }) })
  const stream = await client.open(asked, 'application/x-ndjson')
  const fresh = `${path}.${process.pid}`
  try {
    const file = openSync(fresh, 'wx', 0o600)
    for await (const chunk of stream) writeSync(file, chunk)
    fsyncSync(file)
    closeSync(file)
    let records = 0
    await readVerified(fresh, ({ entity }) => {
      if (entity !== undefined) records++
    })
    renameSync(fresh, path)
    printResult(json, { path, records }, `Saved ${records} records to ${path}.`)
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** An import goes into one team, so an export of several would mix their records. */
function requireOneTeam({ organizations = [] }: Line): void {
  if (organizations.length > 1)
    throw new Refusal(
      `This file has records of ${organizations.length} teams, but an import stores records in one team. ` +
        'Choose a team with tutti teams use, and export again.',
    )
}

/** Limits of one request. */
const [MOST, BYTES] = [200, 4 << 20]

export async function importFile(path: string, { json, ...where }: SyncOptions): Promise<void> {
  const { client } = signedInClient(where)
  const { people } = await readVerified(path, requireOneTeam)
  const total: ImportResult = { created: 0, updated: 0, unchanged: 0, conflicts: [] }
  const send = async (records: ImportBatch['records']): Promise<void> => {
    if (records.length === 0) return
    const done = await client.post<ImportResult>('/api/sync/import', { people, records })
    total.created += done.created
    total.updated += done.updated
    total.unchanged += done.unchanged
    total.conflicts.push(...done.conflicts)
  }
  let batch: ImportBatch['records'] = []
  let size = 0
  for await (const text of splitLines(Bun.file(path).stream())) {
    const { entity, record } = parseLine(jsonInLine(text) || '{}')
    if (entity === undefined || record === undefined) continue
    if (batch.length === MOST || size + text.length > BYTES) {
      await send(batch)
      batch = []
      size = 0
    }
    batch.push({ entity, record })
    size += text.length
  }
  await send(batch)
  const { created, updated, unchanged, conflicts } = total
  const lines = tableLines(conflicts, [
    { title: 'Record', of: (c) => `${c.entity} ${safeLine(c.title ?? c.id)}`, wide: true },
    { title: 'Changed on both sides', of: (c) => safeLine(c.fields.join(', ')) },
  ])
  printResult(
    json,
    total,
    `Imported: ${created} new, ${updated} changed, ${unchanged} unchanged.`,
    ...(conflicts.length > 0 ? lines : []),
  )
  if (conflicts.length > 0 && !json) printNote('The import kept the values of this server.')
}
