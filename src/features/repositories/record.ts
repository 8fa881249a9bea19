import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { repositoryItemColumns, visibleTo } from './rows.ts'
import { repositories } from './table.ts'

export const repositoryRecord: RecordKind<Ctx> = {
  kind: 'repository',
  table: repositories,
  title: sql`left(${repositories.owner} || '/' || ${repositories.name}, 300)`,
  scope: 'repos:read',
  visible: visibleTo,
  item: repositoryItemColumns,
}
