import { getTableColumns } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { decisionComments } from '../decisions/table.ts'
import { specVersions } from '../specs/table.ts'
import { taskDependencies } from '../tasks/table.ts'

/** The order of an export: each record comes after what it belongs to. */
export const order = [
  'project',
  'agent',
  'skill',
  'epic',
  'story',
  'task',
  'comment',
  'dependency',
  'feature',
  'spec',
  'version',
  'decision',
  'discussion',
  'note',
  'memory',
  'link',
] as const

/** What belongs to a record and is never changed, only added: devices keep no copy of it, exports have it. */
export interface Part {
  readonly table: PgTable
  /** The kind of record that it belongs to, and the column with that record's id. */
  readonly of: string
  readonly parent: PgColumn
  /** The columns that identify it. */
  readonly key: readonly PgColumn[]
  readonly columns: Readonly<Record<string, PgColumn>>
}

export const parts: Readonly<Record<string, Part>> = {
  dependency: {
    table: taskDependencies,
    of: 'task',
    parent: taskDependencies.taskId,
    key: [taskDependencies.taskId, taskDependencies.blockedById, taskDependencies.kind],
    columns: getTableColumns(taskDependencies),
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

/** Fields that hold the id of a user, or of an agent where the field with the type says so. */
export const personFields: Readonly<Record<string, string | undefined>> = {
  createdById: undefined,
  assigneeId: 'assigneeType',
  authorId: 'authorType',
}
