import { eq, getTableName, inArray, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, write } from '../../action.ts'
import { member, type Rule } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid } from '../../errors.ts'
import type { FieldKind } from '../../records/sync.ts'
import { announceImported, endsIn } from '../links/service.ts'
import { memberships } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { recordsImported } from './events.ts'
import { parts, personFields } from './parts.ts'
import { checkRecord, computed, ownerOf } from './rules.ts'
import type { ImportBatch, ImportResult, Line } from './schema.ts'
import { importedRecords } from './table.ts'

type Fields = Record<string, unknown>

/** Not for agents, nor for somebody who acts as another: it stores texts in the names of their authors. */
const administrators: Rule = { ...member('transfer:write', 'admin'), kinds: ['session', 'api_key'], own: true }

/** Where an entity is stored, and how its changed fields come together. */
interface Place {
  table: PgTable & { id?: PgColumn }
  columns: Readonly<Record<string, PgColumn>>
  key: readonly PgColumn[]
  fields: Readonly<Record<string, FieldKind>>
}

/**
 * Stores records of another instance with their ids, times, versions and numbers, all of a batch or none. A record that
 * was imported before takes what changed there since; what changed on both sides stays as it is here.
 */
export const importBatch = write(
  'transfer.import',
  administrators,
  async (ctx, { people: named, records }: ImportBatch): Promise<ImportResult> => {
    const organizationId = ctx.actor.organizationId as string
    const batch = new Batch(ctx, organizationId, await accountsOf(ctx, organizationId, named))
    for (const line of records) await batch.store(line)
    await batch.finish()
    return batch.result
  },
  { destructive: true },
)

/** Returns the accounts here of people there, by their addresses: members of the team only. */
async function accountsOf(
  ctx: Ctx,
  organizationId: string,
  named: ImportBatch['people'],
): Promise<Map<string, string>> {
  if (named.length === 0) return new Map()
  const emails = named.map(({ email }) => email.toLowerCase())
  const found = await ctx.db
    .select({ id: users.id, email: users.email })
    .from(users)
    .innerJoin(memberships, eq(memberships.userId, users.id))
    .where(and(inArray(users.email, emails), eq(memberships.organizationId, organizationId)))
  const byEmail = new Map(found.map(({ id, email }) => [email.toLowerCase(), id]))
  return new Map(
    named.flatMap(({ id, email }) => {
      const here = byEmail.get(email.toLowerCase())
      return here === undefined ? [] : [[id, here] as const]
    }),
  )
}

const PERSONAL = 'personal'

class Batch {
  readonly result: ImportResult = { created: 0, updated: 0, unchanged: 0, conflicts: [] }
  /** The project of what the current record belongs to. */
  #project: string | null = null
  /** The records that changed, by project (null: of the team; PERSONAL: of the caller) and kind. */
  readonly #changed = new Map<string | null, Record<string, string[]>>()

  constructor(
    private readonly ctx: Ctx,
    private readonly organizationId: string,
    private readonly accounts: ReadonlyMap<string, string>,
  ) {}

  async store({ entity, record }: Line): Promise<void> {
    const place = this.#place(entity)
    checkRecord(entity, record, place.columns)
    const row = this.#mapped(record)
    this.#project = await ownerOf(this.ctx, this.organizationId, entity, row)
    const match = place.key.map((column) => eq(column, row[fieldOf(place.columns, column)] as string))
    const [there] = await rowsAs<Fields>(
      this.ctx.db
        .select(place.columns)
        .from(place.table as PgTable)
        .where(and(...match))
        .limit(1),
    )
    if (!there) await this.#create(entity, place, row)
    else if (Object.hasOwn(parts, entity) || Object.keys(place.fields).length === 0) this.result.unchanged++
    else await this.#update(entity, place, row, there)
  }

  #place(entity: string): Place {
    const part = Object.hasOwn(parts, entity) ? parts[entity] : undefined
    if (part) return { ...part, fields: {} }
    const synced = this.ctx.app.records.synced.find((one) => one.entity === entity)
    if (!synced) throw invalid('/records', `${JSON.stringify(entity)} is not a kind of record that can be imported.`)
    return { table: synced.table, columns: synced.columns, key: [synced.table.id], fields: synced.fields }
  }

  /** Replaces the team, and people by their accounts here. Somebody without an account is left out. */
  #mapped(record: Fields): Fields {
    const row = { ...record }
    if ('organizationId' in row && row.organizationId !== null) row.organizationId = this.organizationId
    for (const [field, type] of Object.entries(personFields)) {
      if (typeof row[field] !== 'string' || (type !== undefined && row[type] !== 'user')) continue
      row[field] = this.accounts.get(row[field]) ?? null
      if (field === 'assigneeId' && row[field] === null) row.assigneeType = null
    }
    return row
  }

  async #create(entity: string, { table, fields }: Place, row: Fields): Promise<void> {
    // A parent may come later, and is set then.
    const { parentId, ...rest } = row
    const values = {
      ...rest,
      ...computed(entity, row),
      ...(entity !== 'task' && parentId !== undefined && { parentId }),
    }
    await this.ctx.db.insert(table as PgTable).values(values as never)
    this.result.created++
    if (entity === 'link')
      announceImported(this.ctx, row as never, await endsIn(this.ctx, this.organizationId, row as never))
    else await this.#remember(entity, fields, row)
  }

  async #remember(entity: string, fields: Place['fields'], row: Fields): Promise<void> {
    this.#touched(entity, row)
    if (Object.keys(fields).length === 0 || typeof row.id !== 'string') return
    const base = Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null]))
    const values = { id: row.id, organizationId: this.organizationId, entity, base, importedAt: this.ctx.now }
    await this.ctx.db
      .insert(importedRecords)
      .values(values)
      .onConflictDoUpdate({ target: importedRecords.id, set: { base, importedAt: this.ctx.now } })
  }

  #touched(entity: string, { id, projectId, ...row }: Fields): void {
    const isPersonal = row.organizationId === null && typeof projectId !== 'string'
    const project = entity === 'project' ? id : isPersonal ? PERSONAL : (projectId ?? this.#project)
    const list = this.#changed.get(project as string | null) ?? {}
    const kind = Object.hasOwn(parts, entity) ? (parts[entity]?.of as string) : entity
    list[kind] = [...(list[kind] ?? []), String(id ?? row.taskId ?? row.specId ?? row.decisionId)]
    this.#changed.set(project as string | null, list)
  }

  async #update(entity: string, { table, fields }: Place, row: Fields, there: Fields): Promise<void> {
    const [before] = await this.ctx.db
      .select({ base: importedRecords.base, organizationId: importedRecords.organizationId })
      .from(importedRecords)
      .where(eq(importedRecords.id, String(row.id)))
    if (before?.organizationId !== this.organizationId || there.organizationId !== row.organizationId)
      throw new AppError('conflict.exists', `The ${entity} ${row.id} exists here, and was not imported to this team.`)
    const { taken, conflicts } = compared(fields, before.base, there, row)
    if (conflicts.length > 0) this.result.conflicts.push({ entity, id: String(row.id), fields: conflicts })
    if (Object.keys(taken).length === 0) this.result.unchanged += conflicts.length > 0 ? 0 : 1
    else {
      const set = { ...taken, ...computed(entity, { ...there, ...taken }), updatedAt: this.ctx.now }
      await this.ctx.db
        .update(table as PgTable)
        .set({ ...set, version: sql`${sql.identifier(getTableName(table))}.version + 1` } as never)
        .where(eq(table.id as PgColumn, String(row.id)))
      this.result.updated++
    }
    await this.#remember(entity, fields, row)
  }

  /** Sets parents that came after their parts, and names every record that changed in an event of its project. */
  async finish(): Promise<void> {
    await this.ctx.db.execute(sql`update tasks set parent_id = (i.base ->> 'parentId')::uuid from imported_records i
      where i.id = tasks.id and tasks.parent_id is null and i.base ->> 'parentId' is not null
        and i.organization_id = ${this.organizationId}
        and exists (select 1 from tasks p where p.id = (i.base ->> 'parentId')::uuid)`)
    await this.ctx.db.execute(sql`update projects set last_number = greatest(last_number, coalesce((
      select max(number) from tasks where tasks.project_id = projects.id), 0))
      where organization_id = ${this.organizationId}`)
    for (const [projectId, changed] of this.#changed)
      this.ctx.emit(recordsImported, {
        ...(projectId === PERSONAL
          ? { organizationId: null, userId: this.ctx.actor.userId ?? undefined }
          : { organizationId: this.organizationId, projectId, subjectId: projectId ?? undefined }),
        data: { changed, count: Object.values(changed).flat().length },
      })
  }
}

const fieldOf = (columns: Place['columns'], wanted: PgColumn): string =>
  Object.entries(columns).find(([, column]) => column === wanted)?.[0] ?? ''

/** Compares three versions of a record: what was imported last, what is here, and what comes now. */
export function compared(
  fields: Readonly<Record<string, FieldKind>>,
  base: Fields,
  here: Fields,
  there: Fields,
): { taken: Fields; conflicts: string[] } {
  const taken: Fields = {}
  const conflicts: string[] = []
  for (const [name, kind] of Object.entries(fields)) {
    const [was, mine, theirs] = [base[name] ?? null, here[name] ?? null, there[name] ?? null]
    if (Bun.deepEquals(theirs, was) || Bun.deepEquals(theirs, mine)) continue
    if (Bun.deepEquals(mine, was)) taken[name] = theirs
    else if (kind === 'set') taken[name] = union(was, mine, theirs)
    else conflicts.push(name)
  }
  return { taken, conflicts }
}

function union(was: unknown, mine: unknown, theirs: unknown): unknown[] {
  const [before, here, there] = [was, mine, theirs].map((list) => new Set(Array.isArray(list) ? list : []))
  const added = (there as Set<unknown>).difference(before as Set<unknown>)
  const removed = (before as Set<unknown>).difference(there as Set<unknown>)
  return [...(here as Set<unknown>).union(added).difference(removed)]
}
