import { sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { randomTail } from '../../auth/secrets.ts'
import { entityNamed } from './entities.ts'
import { kindNamed } from './kinds.ts'
import type { Line } from './schema.ts'

type Fields = Record<string, unknown>

/** The slugs of the records in a batch, and which of them are in use: read once for each kind. */
export class Slugs {
  readonly #taken = new Map<string, Set<string>>()

  constructor(
    private readonly ctx: Ctx,
    private readonly records: readonly Line[],
  ) {}

  /** Returns another slug for a new record if its own is in use. */
  async freeSlugFor(entity: string, { slug }: Fields): Promise<Fields> {
    const table = entityNamed(entity).hasSlug && kindNamed(this.ctx, entity)?.table
    if (!table || typeof slug !== 'string') return {}
    const taken = this.#taken.get(entity) ?? (await this.#read(entity, table))
    this.#taken.set(entity, taken)
    const found = taken.has(slug) ? `${slug}-${randomTail()}` : slug
    taken.add(found)
    return { slug: found }
  }

  async #read(entity: string, table: PgTable): Promise<Set<string>> {
    const wanted = this.records.flatMap(({ entity: kind, record: { slug } }) =>
      kind === entity && typeof slug === 'string' ? [slug] : [],
    )
    const { rows } = await this.ctx.db.execute<{ slug: string }>(sql`
      select slug from ${table} where slug in ${wanted} and deleted_at is null`)
    return new Set(rows.map(({ slug }) => slug))
  }
}
