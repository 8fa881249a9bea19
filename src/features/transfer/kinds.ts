import { getTableColumns, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Container, isPlaced, type PlacedEntity, splitContainer, syncPlace } from '../../records/sync.ts'
import { repositoryRecord } from '../repositories/record.ts'
import { repositories } from '../repositories/table.ts'
import { sessionRecord } from '../sessions/record.ts'
import { sessionColumns } from '../sessions/rows.ts'
import { sessions } from '../sessions/table.ts'
import { viewColumns, visibleTo as viewVisibleTo } from '../views/service.ts'
import { views } from '../views/table.ts'

export type Kind = Pick<PlacedEntity, 'entity' | 'table' | 'scope' | 'columns' | 'fields' | 'version' | 'place'>

/** A session belongs to its user alone, so the export of one project contains none. */
const session: Kind = {
  entity: 'session',
  table: sessions,
  scope: 'sessions:read',
  version: sessions.version,
  columns: sessionColumns,
  fields: {
    status: 'value',
    goals: 'value',
    context: 'text',
    checkpoint: 'value',
    checkpointAt: 'value',
    summary: 'text',
    endedAt: 'value',
  },
  place: {
    visible: sessionRecord.visible,
    container: sql<Container>`'user:' || ${sessions.userId}`,
    inContainer: (container) => {
      const { type, id } = splitContainer(container)
      return type === 'user' ? sql`${sessions.userId} = ${id}::uuid` : sql`false`
    },
  },
}

const { key: _, deletedAt: __, ...repositoryColumns } = getTableColumns(repositories)

const repository: Kind = {
  entity: 'repository',
  table: repositories,
  scope: repositoryRecord.scope,
  version: repositories.version,
  columns: repositoryColumns,
  fields: {
    private: 'value',
    defaultBranch: 'value',
    branches: 'value',
    commitSha: 'value',
    lastCommit: 'value',
    language: 'value',
    topics: 'value',
    pulls: 'value',
    syncedAt: 'value',
  },
  place: syncPlace(repositoryRecord, repositories.projectId),
}

const viewPlace = syncPlace({ table: views, visible: viewVisibleTo }, views.projectId)

/** A view that is not shared belongs to its author alone. */
const view: Kind = {
  entity: 'view',
  table: views,
  scope: 'views:read',
  version: views.version,
  columns: viewColumns,
  fields: { name: 'value', query: 'value', shared: 'value' },
  place: {
    ...viewPlace,
    container: sql<Container>`case when ${views.shared} then ${viewPlace.container}
      else 'user:' || ${views.createdById} end`,
  },
}

/** Kinds that exports contain, but copies on devices do not. */
const exportOnlyKinds: readonly Kind[] = [session, repository, view]

export const kindNamed = ({ app }: Ctx, name: string): Kind | undefined =>
  exportOnlyKinds.find(({ entity }) => entity === name) ??
  app.records.synced.filter(isPlaced).find(({ entity }) => entity === name)
