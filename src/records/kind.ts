import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Rights } from '../auth/rights.ts'
import type { EventType } from '../events/catalogue.ts'
import { kindInfo, type RecordName, type RestorableName, recordNames } from './names.ts'
import type { QueryFilter } from './query-filters.ts'
import { type SyncEntity, type SyncRules, syncEntity } from './sync.ts'

/** The table of a kind. Rows with a project and `deletedAt` are moved, deleted and restored with the project. */
type RecordTable = PgTable &
  Record<'id' | 'updatedAt' | 'version' | 'organizationId', PgColumn> & {
    projectId?: PgColumn
    deletedAt?: PgColumn
    createdById?: PgColumn
  }

/**
 * Describes one kind of record, in its feature's `record.ts`, for search, links, MCP resources, the trash and more. `C`
 * is `Ctx`: a feature writes `RecordKind<Ctx>`. It is a parameter because a `Ctx` knows all kinds. Code that calls no
 * function of a kind leaves it out.
 */
export type RecordKind<C = never> = Restorable<C> | (Description<C> & OtherKind)

interface RestorableKind {
  /** Also the first part of the names of its events: `note.updated` is about a note. */
  readonly kind: RestorableName
  /** The event that deletes a record. Records that are deleted along with another one have none. */
  readonly deleted: EventType
}

export type Restorable<C = never> = Description<C> & RestorableKind

interface OtherKind {
  readonly kind: Exclude<RecordName, RestorableName>
  readonly deleted?: undefined
}

interface Description<C> {
  readonly table: RecordTable
  /** The text of a link to the record. */
  readonly title: PgColumn | SQL
  /** The scope that a credential needs to read the record. */
  readonly scope: `${string}:read`
  /** The condition for the rows that a caller sees. */
  readonly visible: (rights: Rights) => SQL
  /** The path of the record below `/api`. Default: the path of its kind (names.ts) and its id. */
  readonly path?: SQL
  /** The key or slug that people use instead of the id: `TUT-42`. */
  readonly key?: PgColumn | SQL
  /** The condition for records whose key begins with the text; undefined if it cannot be the beginning of a key. */
  readonly keyBegins?: (text: string) => SQL | undefined
  /** The state that the record is in: `todo`. */
  readonly status?: PgColumn | SQL
  /** What a filter of a search query, such as `is:open`, means for the kind. Without it, filters exclude the kind. */
  readonly matchFilter?: (ctx: C, filter: QueryFilter) => Promise<FilterMatch | undefined>
  /** The project that decides who sees the record. Default: `projectId` of its table. */
  readonly projectId?: PgColumn
  /** Who owns a record without an organization. Only needed where `organizationId` of its table may be null. */
  readonly ownerId?: PgColumn
  /** A jsonb list of `{ id, kind? }` in the record itself: the records it links to. */
  readonly ownLinks?: PgColumn
  /**
   * The columns of a list item, for live events. They must be equal for all readers of the record. Default: the columns
   * that devices get, without long texts.
   */
  readonly item?: Record<string, PgColumn | SQL>
  /** Briefs of its project mention changes to the record. */
  readonly inBriefs?: true
  /** The text that search indexes. `own`: the feature writes the passages itself. */
  readonly search?: SearchText | 'own'
  /** How MCP clients read the record: `tutti://note/how-we-deploy`. */
  readonly resource?: Resource<C>
  /** How devices keep a copy of the record and change it. */
  readonly sync?: SyncRules<C>
}

/** What a filter of a search query means. The text of a filter without a meaning counts as words. */
export interface FilterMatch {
  /** The condition on the table of the kind. */
  readonly condition: SQL
  /** The values as people read them: whole names instead of their beginnings. */
  readonly names?: string[]
}

interface SearchText {
  /** Default: the record's title. */
  readonly title?: PgColumn | SQL
  /** The text to index besides the title. `PART_SEPARATOR` separates parts that are also found by themselves. */
  readonly text: PgColumn | SQL
  /** SQL condition for rows that an upgrade must index again, because search now reads their text differently. */
  readonly grown?: SQL
  /** SQL condition: others may have written a part of `text`, such as a comment. */
  readonly several?: SQL
  /** The tags to filter results by. Search does not find their words: add the column to `text` for that. */
  readonly tags?: PgColumn
  /** The only person who may see the record; null if others may too. */
  readonly userId?: PgColumn | SQL
  /** When the record becomes outdated. */
  readonly expiresAt?: SQL
  /** The agent whose record it is, such as its assignee or author. */
  readonly agentId?: PgColumn | SQL
  /** The work session that it belongs to. */
  readonly sessionId?: PgColumn
}

export interface Resource<C = never> {
  readonly title: string
  /** Which references a client may use as `{id}`, in words: `Slug or id`. */
  readonly references: string
  /** The tool that returns the same data: only callers who may use it see the resource. None: the scope decides. */
  readonly tool?: string
  readonly read: (ctx: C, ref: string) => Promise<object>
  /** Returns the first records of a list, for the completion of `{id}`. Clients list only projects as resources. */
  readonly list: (ctx: C, limit: number) => Promise<{ items: readonly object[] }>
}

/** Returns the author of a personal record, which belongs to no organization; null for all others. */
export const personalOwner = (table: { organizationId: PgColumn; createdById: PgColumn }): SQL =>
  sql`case when ${table.organizationId} is null then ${table.createdById} end`

/** SQL: stands between the parts of a text that search reads (a form feed, which ends a page). */
export const PART_SEPARATOR = sql`e'\f'`
/** SQL: the last comments of a record, oldest first, as parts of the text that search reads. Long ones are cut. */
export const recentComments = (body: PgColumn, at: PgColumn, isOfRecord: SQL): SQL =>
  sql`(select string_agg(left(c.body, 5000), ${PART_SEPARATOR} order by c.at) from (
    select ${body} as body, ${at} as at from ${body.table} where ${isOfRecord} order by ${at} desc limit 50) c)`

export const projectColumn = ({ projectId, table }: RecordKind): PgColumn | undefined => projectId ?? table.projectId

export const recordPath = ({ kind, path, table }: RecordKind): SQL =>
  path ?? sql`${`${kindInfo(kind).path}/`}::text || ${table.id}`

/** A kind whose passages search updates after each event. */
export type SearchKind<C = never> = RecordKind<C> & { readonly search: SearchText }
/** A table whose rows are moved, deleted and restored together with their project. */
export type ProjectTable = RecordTable & { projectId: PgColumn; deletedAt: PgColumn }

/** All kinds of records, in the order of names.ts. */
export class Records<C = never> {
  readonly all: readonly RecordKind<C>[]
  /** Everything that devices copy: kinds of records, then what belongs to records, such as comments. */
  readonly synced: readonly SyncEntity<C>[]
  readonly #byName: ReadonlyMap<string, RecordKind<C>>

  constructor(kinds: readonly RecordKind<C>[], hanging: readonly SyncEntity<C>[] = []) {
    this.#byName = new Map(kinds.map((record) => [record.kind, record]))
    this.all = recordNames.map((name) => this.get(name))
    this.synced = [...this.all.flatMap((record) => syncEntity(record, projectColumn(record)) ?? []), ...hanging]
    if (kinds.length !== recordNames.length) throw new Error('A kind of record is described twice.')
  }

  get(name: RecordName): RecordKind<C> {
    const found = this.find(name)
    if (!found)
      throw new Error(`No feature describes the kind ${name}: its index.ts lists no record for it in \`records\`.`)
    return found
  }

  find(name: string): RecordKind<C> | undefined {
    return this.#byName.get(name)
  }

  /** The kinds whose passages search updates after each event. */
  get followed(): SearchKind<C>[] {
    return this.all.filter((record): record is SearchKind<C> => typeof record.search === 'object')
  }

  /** The kinds whose deleted records can be restored. */
  get restorable(): Restorable<C>[] {
    return this.all.filter((record): record is Restorable<C> => record.deleted !== undefined)
  }

  /** The tables of records that belong to a project and can be deleted. */
  get inProjects(): ProjectTable[] {
    return this.all
      .map(({ table }) => table)
      .filter((table): table is ProjectTable => table.projectId !== undefined && table.deletedAt !== undefined)
  }
}
