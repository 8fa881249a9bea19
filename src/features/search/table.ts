import { sql } from 'drizzle-orm'
import {
  bigint,
  bigserial,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  real,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bits, instant, newId, searchOver, stemsOver, textList, vector } from '../../db/columns.ts'
import type { SearchName } from '../../records/names.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'

/** How many characters of a title are indexed: a longer text could be too long for an index. */
export const TITLE_START = 64
/**
 * The first `TITLE_START` characters. Sorted by bytes, so that titles with the same beginning lie
 * together whatever the language of the database.
 */
export const titleStart = sql`lower(left(title, 64)) collate "C"`

/**
 * The search index: every record, cut into passages that fit an embedding. A memory is indexed by its own write, so
 * that search finds it at once; other records follow within a second, by a job that reads the events.
 */
export const passages = pgTable(
  'passages',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    kind: text().$type<SearchName>().notNull(),
    recordId: uuid().notNull(),
    /** Null for personal records. */
    organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }),
    /** Owner of a personal record. */
    userId: uuid().references(() => users.id, { onDelete: 'cascade' }),
    projectId: uuid().references(() => projects.id, { onDelete: 'cascade' }),
    /** For memories: the scope. */
    scope: text(),
    scopeId: uuid(),
    chunk: integer().notNull(),
    title: text().notNull(),
    content: text().notNull(),
    tags: textList().notNull(),
    importance: real().notNull(),
    /** When the record was last changed. */
    at: instant().notNull(),
    expiresAt: instant(),
    /** The organization or the user that it belongs to. */
    owner: uuid().generatedAlwaysAs(sql`coalesce(organization_id, user_id)`),
    search: stemsOver('title', 'content'),
    /** Words of the title without stemming, because suggestions match their prefixes. */
    titleWords: searchOver('title'),
  },
  (t) => [
    unique('passages_owner').on(t.id, t.owner),
    uniqueIndex('passages_record').on(t.kind, t.recordId, t.chunk),
    index('passages_organization').on(t.organizationId, t.kind),
    index('passages_user').on(t.userId),
    index('passages_project').on(t.projectId, t.kind),
    index('passages_scope').on(t.scope, t.scopeId).where(sql`${t.scope} is not null`),
    // The newest passages of an owner, in which a search looks for very common words.
    index('passages_newest').on(t.owner, t.at, t.id),
    index('passages_search').using('gin', t.search),
    // Only the first passage, so that each record counts once.
    index('passages_title_starts').on(titleStart).where(sql`${t.chunk} = 0`),
    index('passages_titles').using('gin', t.titleWords).where(sql`${t.chunk} = 0`),
  ],
)

/** Vectors per model, so that a change of model can run in the background. */
export const passageVectors = pgTable(
  'passage_vectors',
  {
    passageId: uuid()
      .notNull()
      .references(() => passages.id, { onDelete: 'cascade' }),
    model: text().notNull(),
    vector: vector().notNull(),
    /** Set by a job if the owner has an index of its own (`vectorIndexes`), which contains the rows with an owner. */
    owner: uuid(),
  },
  (t) => [primaryKey({ columns: [t.passageId, t.model] })],
)

/**
 * Owners with so many passages that their vectors have an index (HNSW); only on Postgres. A job creates the index, so a
 * row can exist without it, for example after `tutti db move`.
 */
export const vectorIndexes = pgTable(
  'vector_indexes',
  {
    owner: uuid().notNull(),
    model: text().notNull(),
    /** The name of the index in the database. */
    name: text().notNull(),
    dimensions: integer().notNull(),
    /** `refused`: its recall is too low, so it is not used. */
    state: text().$type<'building' | 'ready' | 'refused'>().notNull(),
    /** `hnsw.ef_search` for each search. */
    efSearch: integer().notNull(),
    /** Passages up to this number of `passage_signs` are in the index. */
    markedSeq: bigint({ mode: 'number' }).notNull(),
    /** The share of the right passages that it found at the last check. */
    recall: real(),
    checkedAt: instant(),
  },
  (t) => [primaryKey({ columns: [t.owner, t.model] })],
)

/**
 * The signs of the vectors: 32 times shorter, and enough to preselect a few hundred of a hundred thousand passages.
 * Rows are short on purpose, so that a search reads only a fraction of what texts and vectors take.
 */
export const passageSigns = pgTable(
  'passage_signs',
  {
    passageId: uuid().notNull(),
    model: text().notNull(),
    owner: uuid().notNull(),
    signs: bits().notNull(),
    /** Grows with every row and every change of owner, for caches of vectors in memory. */
    seq: bigserial({ mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.passageId, t.model] }),
    foreignKey({
      name: 'passage_signs_vector',
      columns: [t.passageId, t.model],
      foreignColumns: [passageVectors.passageId, passageVectors.model],
    }).onDelete('cascade'),
    // Cascades a change of the passage's owner.
    foreignKey({
      name: 'passage_signs_passage',
      columns: [t.passageId, t.owner],
      foreignColumns: [passages.id, passages.owner],
    })
      .onDelete('cascade')
      .onUpdate('cascade'),
    index('passage_signs_owner').on(t.owner, t.seq),
  ],
)
