import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import type { Line } from './schema.ts'
import { importedRecords } from './table.ts'

const ID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const ids = new RegExp(ID, 'g')
/** Where the text of a record shows a file. */
const files = new RegExp(`(?<=/api/uploads/)${ID}`, 'g')

/**
 * Returns the id that a record gets in a team if its own is taken by a record of others. It is always the same one, so
 * that the next import finds the record, and so do records that name it before it comes.
 */
export function aliasOf(organizationId: string, id: string): string {
  const hash = createHash('sha256').update(`${organizationId} ${id}`).digest('hex')
  return `${id.slice(0, 14)}7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}

/**
 * Ids stay in an import, but an id may be taken: by a copy in another team of this instance, or because somebody took
 * it on purpose. Then the record is imported with another id, and whoever imports it learns nothing of the other one.
 */
export class Aliases {
  readonly #known = new Map<string, string>()

  constructor(private readonly organizationId: string) {}

  /** Finds the records of earlier batches that have another id here, among all that are named in these lines. */
  async find(ctx: Ctx, lines: readonly Line[]): Promise<void> {
    const named = new Map<string, string>()
    for (const { entity, record } of lines)
      for (const [id] of (entity === 'file' ? String(record.recordId) : JSON.stringify(record)).matchAll(ids))
        named.set(aliasOf(this.organizationId, id), id)
    const found = await ctx.db
      .select({ id: importedRecords.id })
      .from(importedRecords)
      .where(
        and(
          eq(importedRecords.organizationId, this.organizationId),
          anyOf(importedRecords.id, idList([...named.keys()])),
        ),
      )
    for (const { id } of found) this.#known.set(named.get(id) as string, id)
  }

  add(id: string): void {
    this.#known.set(id, aliasOf(this.organizationId, id))
  }

  /** Returns the record with the ids that it and those which it names have here. Its files have others if it has. */
  in(record: Line['record']): Line['record'] {
    if (this.#known.size === 0) return record
    const text = JSON.stringify(record).replace(ids, (id) => this.#known.get(id) ?? id)
    const isOther = this.#known.has(String(record.id))
    return JSON.parse(isOther ? text.replace(files, (id) => aliasOf(this.organizationId, id)) : text)
  }

  /** Returns the file of a record with their ids here. */
  ofFile<T extends { id: string; recordId: string }>(file: T): T {
    const recordId = this.#known.get(file.recordId)
    return recordId === undefined ? file : { ...file, id: aliasOf(this.organizationId, file.id), recordId }
  }
}
