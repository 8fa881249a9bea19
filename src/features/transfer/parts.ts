import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { RecordName } from '../../records/names.ts'
import { decisionComments } from '../decisions/table.ts'
import { pullRequests } from '../repositories/table.ts'
import { specVersions } from '../specs/table.ts'
import { taskDependencies, taskEvidence } from '../tasks/table.ts'
import { featureDependencies, featureEvidence, featureReviews } from '../workflow/table.ts'

/** A part of a record to which rows are only added: an export has a line for each. */
export interface Part {
  readonly table: PgTable
  /** The kind of record that it belongs to, and the column with that record's id. */
  readonly of: RecordName
  readonly parent: PgColumn
  /** The columns that identify it. */
  readonly key: readonly PgColumn[]
  readonly columns: Readonly<Record<string, PgColumn>>
}

/** The id has a meaning on one server only, so the importing server makes its own. */
const { id: _, ...dependencyColumns } = getTableColumns(taskDependencies)

export const exportedParts: Readonly<Record<string, Part>> = {
  evidence: {
    table: taskEvidence,
    of: 'task',
    parent: taskEvidence.taskId,
    key: [taskEvidence.id],
    columns: getTableColumns(taskEvidence),
  },
  dependency: {
    table: taskDependencies,
    of: 'task',
    parent: taskDependencies.taskId,
    key: [taskDependencies.taskId, taskDependencies.blockedById, taskDependencies.kind],
    columns: dependencyColumns,
  },
  gateEvidence: {
    table: featureEvidence,
    of: 'feature',
    parent: featureEvidence.featureId,
    key: [featureEvidence.id],
    columns: getTableColumns(featureEvidence),
  },
  review: {
    table: featureReviews,
    of: 'feature',
    parent: featureReviews.featureId,
    key: [featureReviews.id],
    columns: getTableColumns(featureReviews),
  },
  featureDependency: {
    table: featureDependencies,
    of: 'feature',
    parent: featureDependencies.featureId,
    key: [featureDependencies.featureId, featureDependencies.blockedById],
    columns: getTableColumns(featureDependencies),
  },
  pullRequest: {
    table: pullRequests,
    of: 'repository',
    parent: pullRequests.repositoryId,
    key: [pullRequests.id],
    columns: getTableColumns(pullRequests),
  },
  version: {
    table: specVersions,
    of: 'spec',
    parent: specVersions.specId,
    key: [specVersions.specId, specVersions.version],
    columns: getTableColumns(specVersions),
  },
  discussion: {
    table: decisionComments,
    of: 'decision',
    parent: decisionComments.decisionId,
    key: [decisionComments.id],
    columns: getTableColumns(decisionComments),
  },
}

/** Fields with the id of a user, or of an agent if the type field says so. */
export const personFields: Readonly<Record<string, string | undefined>> = {
  createdById: undefined,
  userId: undefined,
  verifiedById: undefined,
  assigneeId: 'assigneeType',
  authorId: 'authorType',
  actorId: 'actorType',
}

export const fieldOf = (columns: Part['columns'], wanted: PgColumn): string =>
  Object.entries(columns).find(([, column]) => column === wanted)?.[0] ?? ''

/** Returns the field with the id of the record that a part or a comment belongs to. */
export const parentField = (entity: string): string =>
  exportedParts[entity] ? fieldOf(exportedParts[entity].columns, exportedParts[entity].parent) : 'taskId'
