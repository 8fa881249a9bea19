import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import type { Line } from './schema.ts'
import { importedRecords } from './table.ts'

const ID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const ids = new RegExp(ID, 'g')
/** Addresses of files in the text of a record. */
const files = new RegExp(`(?<=/api/uploads/)${ID}`, 'g')

/**
 * Returns the id that a record gets in a team if its own id belongs to a record of others. It is always the same, so
 * that the next import finds the record, and records that refer to it can be imported first.
 */
export function aliasOf(organizationId: string, id: string): string {
  const hash = createHash('sha256').update(`${organizationId} ${id}`).digest('hex')
  return `${id.slice(0, 14)}7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}

/**
 * Records keep their ids in an import, but an id may be in use: by a copy in another team of this server, or because
 * someone took it on purpose. Then the record gets another id, and the importing person learns nothing about the other
 * record.
 */
export class Aliases {
  readonly #known = new Map<string, string>()

  constructor(private readonly organizationId: string) {}

  /** Finds records of earlier batches that got another id, among all that these lines name. */
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

  /** Returns the record with the ids of this server, its references included. A new id changes those of its files. */
  translate(record: Line['record']): Line['record'] {
    if (this.#known.size === 0) return record
    const text = JSON.stringify(record).replace(ids, (id) => this.#known.get(id) ?? id)
    const isOther = this.#known.has(String(record.id))
    return JSON.parse(isOther ? text.replace(files, (id) => aliasOf(this.organizationId, id)) : text)
  }

  /** Returns the file of a record with their ids on this server. */
  translateFile<T extends { id: string; recordId: string }>(file: T): T {
    const recordId = this.#known.get(file.recordId)
    return recordId === undefined ? file : { ...file, id: aliasOf(this.organizationId, file.id), recordId }
  }
}
