import { sql } from 'drizzle-orm'
import type { RecordKind } from '../../records/kind.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { repositories } from './table.ts'

export const repositoryRecord: RecordKind = {
  kind: 'repository',
  table: repositories,
  title: sql`left(${repositories.owner} || '/' || ${repositories.name}, 300)`,
  scope: 'repos:read',
  visible: liveOfTeamOrProject(repositories),
  ownerId: repositories.createdById,
}
