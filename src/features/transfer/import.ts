import { eq, getTableName, inArray, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, write } from '../../action.ts'
import { member, type Rule, scopeHolds } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid } from '../../errors.ts'
import type { FieldKind } from '../../records/sync.ts'
import { lookUp } from '../links/records.ts'
import { announceImported } from '../links/service.ts'
import { memberships } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { recordsImported } from './events.ts'
import { adoptParts, parentIn, raiseNumbers, setParents } from './parents.ts'
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
  /** Tasks that are new, and tasks whose parent changed to one that is not here yet. */
  readonly #created = new Set<string>()
  readonly #moved = new Set<string>()
  /** Agents that the caller sees. */
  readonly #agents = new Set<string>()

  constructor(
    private readonly ctx: Ctx,
    private readonly organizationId: string,
    private readonly accounts: ReadonlyMap<string, string>,
  ) {}

  async store({ entity, record }: Line): Promise<void> {
    const place = this.#place(entity)
    checkRecord(entity, record, place.columns)
    const row = await this.#mapped(record)
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

  /** Throws if the credential may not write records of this kind. */
  #place(entity: string): Place {
    const part = Object.hasOwn(parts, entity) ? parts[entity] : undefined
    const synced = this.ctx.app.records.synced.find((one) => one.entity === (part?.of ?? entity))
    if (!synced) throw invalid('/records', `${JSON.stringify(entity)} is not a kind of record that can be imported.`)
    const scope = synced.scope.replace(':read', ':write')
    if (!scopeHolds(this.ctx.actor.scopes, scope))
      throw new AppError('forbidden', `This credential lacks the scope ${scope}, which importing a ${entity} needs.`, {
        scope,
      })
    if (part) return { ...part, fields: {} }
    return { table: synced.table, columns: synced.columns, key: [synced.table.id], fields: synced.fields }
  }

  /**
   * Replaces the team, and people by their accounts here. Somebody without an account, an agent that the caller does
   * not see, and the workspace, which is of the other instance, are left out.
   */
  async #mapped(record: Fields): Promise<Fields> {
    const row = { ...record }
    if ('organizationId' in row && row.organizationId !== null) row.organizationId = this.organizationId
    if ('workspaceId' in row) row.workspaceId = null
    for (const [field, type] of Object.entries(personFields)) {
      const id = row[field]
      if (typeof id !== 'string') continue
      if (type === undefined || row[type] === 'user') row[field] = this.accounts.get(id) ?? null
      else if (!(await this.#seesAgent(id))) row[field] = null
      if (field === 'assigneeId' && row[field] === null) row.assigneeType = null
    }
    return row
  }

  async #seesAgent(id: string): Promise<boolean> {
    if (!this.#agents.has(id) && (await lookUp(this.ctx, 'agent', [id])).length > 0) this.#agents.add(id)
    return this.#agents.has(id)
  }

  async #create(entity: string, { table, fields }: Place, row: Fields): Promise<void> {
    if (entity === 'link') await announceImported(this.ctx, this.organizationId, row as never)
    // A parent may come later, and is set then.
    const { parentId, ...rest } = row
    const values = {
      ...rest,
      ...computed(entity, row),
      ...(entity !== 'task' && parentId !== undefined && { parentId }),
    }
    await this.ctx.db.insert(table as PgTable).values(values as never)
    this.result.created++
    if (entity === 'link') return
    if (entity === 'task') this.#created.add(String(row.id))
    this.#touched(entity, row)
    await this.#remember(entity, fields, row)
  }

  async #remember(entity: string, fields: Place['fields'], row: Fields): Promise<void> {
    if (Object.keys(fields).length === 0 || typeof row.id !== 'string') return
    const base = Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null]))
    const values = { id: row.id, organizationId: this.organizationId, entity, base, importedAt: this.ctx.now }
    await this.ctx.db
      .insert(importedRecords)
      .values(values)
      .onConflictDoUpdate({ target: importedRecords.id, set: { base, importedAt: this.ctx.now } })
  }

  /** Notes that a record changed, to be named in an event of where it is. A part changes what it belongs to. */
  #touched(entity: string, row: Fields): void {
    const { id, projectId } = row
    const isPersonal = row.organizationId === null && typeof projectId !== 'string'
    const project = entity === 'project' ? id : isPersonal ? PERSONAL : (projectId ?? this.#project)
    const part = Object.hasOwn(parts, entity) ? parts[entity] : undefined
    const kind = part?.of ?? entity
    const changed = String(part ? row[fieldOf(part.columns, part.parent)] : id)
    const list = this.#changed.get(project as string | null) ?? {}
    list[kind] = [...new Set(list[kind]).add(changed)]
    this.#changed.set(project as string | null, list)
  }

  async #update(entity: string, { table, fields }: Place, row: Fields, there: Fields): Promise<void> {
    const [before] = await this.ctx.db
      .select({ base: importedRecords.base, organizationId: importedRecords.organizationId })
      .from(importedRecords)
      .where(eq(importedRecords.id, String(row.id)))
    const isOwn = there.organizationId !== null || there.createdById === this.ctx.actor.userId
    if (before?.organizationId !== this.organizationId || there.organizationId !== row.organizationId || !isOwn)
      throw new AppError('conflict.exists', `The ${entity} ${row.id} exists here, and was not imported to this team.`)
    const { taken, conflicts } = compared(fields, before.base, there, row)
    if (conflicts.length > 0) this.result.conflicts.push({ entity, id: String(row.id), fields: conflicts })
    if (Object.keys(taken).length === 0) this.result.unchanged += conflicts.length > 0 ? 0 : 1
    else {
      if (taken.parentId) taken.parentId = await parentIn(this.ctx, there.projectId, taken.parentId)
      const set = { ...taken, ...computed(entity, { ...there, ...taken }), updatedAt: this.ctx.now }
      await this.ctx.db
        .update(table as PgTable)
        .set({ ...set, version: sql`${sql.identifier(getTableName(table))}.version + 1` } as never)
        .where(eq(table.id as PgColumn, String(row.id)))
      this.result.updated++
      // A record that moved has left a project, where it is named too.
      this.#touched(entity, there)
      this.#touched(entity, { ...there, ...taken })
      if (taken.parentId === null) this.#moved.add(String(row.id))
    }
    await this.#remember(entity, fields, row)
  }

  /** Sets parents that came after their parts, and names every record that changed in an event of its project. */
  async finish(): Promise<void> {
    const created = [...this.#created]
    await setParents(this.ctx, this.organizationId, [...created, ...this.#moved])
    for (const part of await adoptParts(this.ctx, this.organizationId, created)) this.#touched('task', part)
    const projects = [...this.#changed].flatMap(([id, { task }]) => (task && id !== null && id !== PERSONAL ? id : []))
    await raiseNumbers(this.ctx, projects)
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
