import { eq, getTableName, inArray, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, write } from '../../action.ts'
import { member, type Rule, scopeHolds } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { rowsAs } from '../../db/session.ts'
import { AppError, invalid } from '../../errors.ts'
import { findSeenRecords } from '../links/ends.ts'
import { announceImported, type ImportedLink } from '../links/service.ts'
import { memberships } from '../organizations/table.ts'
import { specs } from '../specs/table.ts'
import { users } from '../users/table.ts'
import { Aliases } from './aliases.ts'
import { type FieldKinds, fieldsOf, mergeImport, nameOf, newerPart, specVersion } from './changes.ts'
import { recordsImported } from './events.ts'
import { checkFile, storeFile } from './files.ts'
import { kindNamed } from './kinds.ts'
import { adoptParts, parentIn, raiseNumbers, setParents } from './parents.ts'
import { exportedParts, fieldOf, parentField, personFields } from './parts.ts'
import { checkRecord, computedColumns, isKnownToCaller, isPersonalEntity, ownerOf, requireRoomInPlan } from './rules.ts'
import type { ImportBatch, ImportResult, Line } from './schema.ts'
import { Slugs } from './slugs.ts'
import { importedRecords } from './table.ts'

type Fields = Record<string, unknown>

/** Not for agents, nor for administrators who act as someone else: it stores texts in the names of their authors. */
const administrators: Rule = { ...member('transfer:write', 'admin'), kinds: ['session', 'api_key'], own: true }

/** How an entity is stored, and how its changed fields are merged. */
interface EntityPlace {
  table: PgTable & { id?: PgColumn }
  columns: Readonly<Record<string, PgColumn>>
  key: readonly PgColumn[]
  fields: FieldKinds
}

/**
 * Stores records of another server with their ids, times, versions and numbers: all of a batch, or none. A record that
 * was imported before gets the changes made there since; fields that changed on both servers keep the value of this
 * one.
 */
export const importBatch = write(
  'transfer.import',
  administrators,
  async (ctx, { people: named, records }: ImportBatch): Promise<ImportResult> => {
    const organizationId = ctx.actor.organizationId as string
    const aliases = new Aliases(organizationId)
    await aliases.find(ctx, records)
    const accounts = await accountsOf(ctx, organizationId, named)
    const batch = new Batch(ctx, organizationId, accounts, aliases, new Slugs(ctx, records))
    for (const line of records) await batch.store(line)
    await batch.finish()
    return batch.result
  },
  { destructive: true },
)

/** Returns the local accounts of the people in the export, by e-mail address: members of the team only. */
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
  /** The project of the record that the current one belongs to. */
  #project: string | null = null
  /** The records that changed, by project (null: of the team; PERSONAL: of the caller) and kind. */
  readonly #changed = new Map<string | null, Record<string, string[]>>()
  /** New tasks, and tasks whose new parent does not exist yet. */
  readonly #created = new Set<string>()
  readonly #moved = new Set<string>()
  /** Agents that the caller sees. */
  readonly #agents = new Set<string>()

  constructor(
    private readonly ctx: Ctx,
    private readonly organizationId: string,
    private readonly accounts: ReadonlyMap<string, string>,
    private readonly aliases: Aliases,
    private readonly slugs: Slugs,
  ) {}

  async store({ entity, record }: Line): Promise<void> {
    if (entity === 'file') return this.#storeFile(record)
    if (await this.#stored(entity, this.aliases.translate(record))) return
    this.aliases.add(String(record.id))
    if (!(await this.#stored(entity, this.aliases.translate(record))))
      throw new AppError('conflict.id', `The ${entity} ${record.id} cannot be imported with its id.`)
  }

  /** Returns false and stores nothing if the id belongs to a record of others. */
  async #stored(entity: string, record: Fields): Promise<boolean> {
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
    else if (!(await isKnownToCaller(this.ctx, this.organizationId, entity, row, there))) return false
    else if (Object.keys(place.fields).length === 0) await this.#renewPart(entity, place, row, there)
    else await this.#update(entity, place, row, there)
    return true
  }

  async #storeFile(record: Fields): Promise<void> {
    const file = this.aliases.translateFile(checkFile(this.ctx, record))
    this.#place(file.kind)
    const createdById = this.accounts.get(file.createdById ?? '') ?? null
    const found = await storeFile(this.ctx, this.organizationId, { ...file, createdById })
    if (!found) return void this.result.unchanged++
    this.result.created++
    this.#touched(file.kind, { ...found, id: file.recordId })
  }

  /** Stores the newer version of an existing part that is not merged by fields. */
  async #renewPart(entity: string, { table, key, columns }: EntityPlace, row: Fields, there: Fields): Promise<void> {
    const set = newerPart(entity, parentField(entity), there, row)
    if (!set) return void this.result.unchanged++
    const match = key.map((column) => eq(column, row[fieldOf(columns, column)] as string))
    await this.ctx.db
      .update(table as PgTable)
      .set(set as never)
      .where(and(...match))
    this.result.updated++
    this.#touched(entity, row)
  }

  /** Throws if the credential may not write records of this kind. */
  #place(entity: string): EntityPlace {
    const part = Object.hasOwn(exportedParts, entity) ? exportedParts[entity] : undefined
    const name = part?.of ?? entity
    const synced = kindNamed(this.ctx, name) ?? this.ctx.app.records.synced.find((one) => one.entity === name)
    if (!synced) throw invalid('/records', `${JSON.stringify(entity)} is not a kind of record that can be imported.`)
    const scope = synced.scope.replace(':read', ':write')
    if (!scopeHolds(this.ctx.actor.scopes, scope))
      throw new AppError('forbidden', `This credential lacks the scope ${scope}, which importing a ${entity} needs.`, {
        scope,
      })
    if (part) return { ...part, fields: {} }
    const { table, columns } = synced
    return { table, columns, key: [table.id], fields: fieldsOf(entity, synced.fields) }
  }

  /**
   * Replaces the team, and people by their local accounts. Leaves out people without an account, agents that the caller
   * cannot see, and the workspace, which belongs to the other server.
   */
  async #mapped(record: Fields): Promise<Fields> {
    const row = { ...record }
    if ('organizationId' in row && row.organizationId !== null) row.organizationId = this.organizationId
    if ('workspaceId' in row) row.workspaceId = null
    if (typeof row.agentId === 'string' && !(await this.#seesAgent(row.agentId))) row.agentId = null
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
    if (!this.#agents.has(id) && (await findSeenRecords(this.ctx, 'agent', [id])).length > 0) this.#agents.add(id)
    return this.#agents.has(id)
  }

  async #create(entity: string, { table, fields }: EntityPlace, row: Fields): Promise<void> {
    if (entity === 'link') await announceImported(this.ctx, this.organizationId, row as ImportedLink)
    await requireRoomInPlan(this.ctx, entity, row)
    if (entity === 'version' && !(await this.#hasReached(row))) return void this.result.unchanged++
    // A parent may follow later, and is set then.
    const { parentId, ...rest } = row
    const values = {
      ...rest,
      ...computedColumns(entity, row),
      ...(entity !== 'task' && parentId !== undefined && { parentId }),
      ...(await this.slugs.freeSlugFor(entity, row)),
    }
    await this.ctx.db.insert(table as PgTable).values(values as never)
    this.result.created++
    if (entity === 'link') return
    if (entity === 'task') this.#created.add(String(row.id))
    this.#touched(entity, values)
    await this.#remember(entity, fields, row)
  }

  /** Whether the spec has had this version here. One that conflicts has not: the next version gets its number. */
  async #hasReached({ specId, version }: Fields): Promise<boolean> {
    const [spec] = await this.ctx.db
      .select({ version: specs.version })
      .from(specs)
      .where(eq(specs.id, String(specId)))
    return spec !== undefined && spec.version >= Number(version)
  }

  async #remember(entity: string, fields: EntityPlace['fields'], row: Fields): Promise<void> {
    if (Object.keys(fields).length === 0 || typeof row.id !== 'string') return
    const base = Object.fromEntries(Object.keys(fields).map((name) => [name, row[name] ?? null]))
    const values = { id: row.id, organizationId: this.organizationId, entity, base, importedAt: this.ctx.now }
    await this.ctx.db
      .insert(importedRecords)
      .values(values)
      .onConflictDoUpdate({ target: importedRecords.id, set: values })
  }

  /** Adds a changed record to the event of its project. A part counts as a change of its record. */
  #touched(entity: string, row: Fields): void {
    const { id, projectId } = row
    const isPersonal = (row.organizationId === null && typeof projectId !== 'string') || isPersonalEntity(entity, row)
    const project = entity === 'project' ? id : isPersonal ? PERSONAL : (projectId ?? this.#project)
    const part = Object.hasOwn(exportedParts, entity) ? exportedParts[entity] : undefined
    const list = this.#changed.get(project as string | null) ?? {}
    const add = (kind: string, changed: unknown) => {
      list[kind] = [...new Set(list[kind]).add(String(changed))]
    }
    if (part) add(part.of, row[fieldOf(part.columns, part.parent)])
    if (!part || this.ctx.app.records.synced.some((one) => one.entity === entity)) add(entity, id)
    this.#changed.set(project as string | null, list)
  }

  async #update(entity: string, { table, fields }: EntityPlace, row: Fields, there: Fields): Promise<void> {
    const [before] = await this.ctx.db
      .select({ base: importedRecords.base, organizationId: importedRecords.organizationId })
      .from(importedRecords)
      .where(eq(importedRecords.id, String(row.id)))
    if (before?.organizationId !== this.organizationId || there.organizationId !== row.organizationId)
      throw new AppError(
        'conflict.exists',
        `The ${entity} ${row.id} already exists on this server and was not imported into this team.`,
      )
    const { taken, conflicts } = mergeImport(fields, before.base, there, row)
    if (conflicts.length > 0)
      this.result.conflicts.push({ entity, id: String(row.id), title: nameOf(there), fields: conflicts })
    if (Object.keys(taken).length === 0) this.result.unchanged += conflicts.length > 0 ? 0 : 1
    else {
      if (taken.parentId) taken.parentId = await parentIn(this.ctx, there.projectId, taken.parentId)
      const after: Fields = { ...there, ...taken }
      if (taken.status !== undefined) await requireRoomInPlan(this.ctx, entity, after)
      const version =
        entity === 'spec'
          ? await specVersion(this.ctx, there, row, after)
          : sql`${sql.identifier(getTableName(table))}.version + 1`
      await this.ctx.db
        .update(table as PgTable)
        .set({ ...taken, ...computedColumns(entity, after), version, updatedAt: this.ctx.now } as never)
        .where(eq(table.id as PgColumn, String(row.id)))
      this.result.updated++
      // A moved record is also reported in the project that it left.
      this.#touched(entity, there)
      this.#touched(entity, { ...there, ...taken })
      if (taken.parentId === null) this.#moved.add(String(row.id))
    }
    await this.#remember(entity, fields, row)
  }

  /** Sets parents that came after their parts, and reports every changed record in an event of its project. */
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
