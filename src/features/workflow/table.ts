import { doublePrecision, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId, searchOver, softRecord } from '../../db/columns.ts'
import type { Priority } from '../../records/task-states.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import type { Evidence } from '../projects/workflow/workflow-schema.ts'
import { users } from '../users/table.ts'
import type { MissingItem } from './schema.ts'

/** Features move through gates; the folder is called workflow because `features` is taken. */
export const features = pgTable(
  'features',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    projectId: uuid()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    createdById: uuid().references(() => users.id, { onDelete: 'set null' }),
    title: text().notNull(),
    description: text(),
    kind: text().notNull(),
    priority: text().$type<Priority>().notNull(),
    /** A state of the project's workflow. */
    status: text().notNull(),
    assigneeType: text().$type<'user' | 'agent'>(),
    assigneeId: uuid(),
    taskIds: json<string[]>().notNull(),
    specId: uuid(),
    position: doublePrecision().notNull(),
    search: searchOver('title', 'description'),
  },
  (t) => [
    index('features_project').on(t.projectId, t.status, t.position),
    index('features_organization').on(t.organizationId, t.updatedAt, t.id),
    index('features_search').using('gin', t.search),
  ],
)

const actorColumns = () => ({
  actorType: text().$type<'user' | 'agent' | 'system'>().notNull(),
  actorId: uuid(),
  actorName: text().notNull(),
  createdAt: instant().notNull(),
})

/** The level of trust in evidence. `missing`: the code host does not have something that it names. */
type EvidenceLevel = 'reported' | 'missing' | 'observed' | 'verified'

/** Evidence submitted at gates. Later only its level changes, and whether it still counts. */
export const featureEvidence = pgTable(
  'feature_evidence',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    featureId: uuid()
      .notNull()
      .references(() => features.id, { onDelete: 'cascade' }),
    gate: text().notNull(),
    level: text().$type<EvidenceLevel>().notNull(),
    evidence: json<Evidence>().notNull(),
    /** What the code host does not have, or reports as failed; null if nothing is known to be missing. */
    missing: json<MissingItem[]>(),
    /** When the gate was opened again, so that this evidence no longer counts. */
    reopenedAt: instant(),
    /** The person who checked it; null before that. */
    verifiedById: uuid(),
    verifiedByName: text(),
    verifiedAt: instant(),
    ...actorColumns(),
  },
  (t) => [index('feature_evidence_feature').on(t.featureId, t.createdAt)],
)

export const featureReviews = pgTable(
  'feature_reviews',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    featureId: uuid()
      .notNull()
      .references(() => features.id, { onDelete: 'cascade' }),
    verdict: text().$type<'approved' | 'changes_requested'>().notNull(),
    comment: text(),
    ...actorColumns(),
  },
  (t) => [index('feature_reviews_feature').on(t.featureId, t.createdAt)],
)

export const featureDependencies = pgTable(
  'feature_dependencies',
  {
    featureId: uuid()
      .notNull()
      .references(() => features.id, { onDelete: 'cascade' }),
    blockedById: uuid()
      .notNull()
      .references(() => features.id, { onDelete: 'cascade' }),
    createdAt: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.featureId, t.blockedById] }),
    index('feature_dependencies_blocker').on(t.blockedById),
  ],
)
