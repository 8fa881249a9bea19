import { isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Rights } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { visibleTo } from './service.ts'
import { projects } from './table.ts'

/** The condition for records of a project that the caller sees. */
export const inVisibleProject = (projectId: PgColumn, rights: Rights): SQL =>
  sql`exists (select 1 from ${projects} where ${projects.id} = ${projectId} and ${visibleTo(rights)})`

/**
 * THE RULE for what teams own: those of a project are seen by whoever sees the project, the others by the team's members.
 * `inProject` can state the first half in another form, where `exists` for each row is slow.
 */
export const ofTeamOrProject = (
  table: Record<'organizationId' | 'projectId', PgColumn>,
  rights: Rights,
  inProject = inVisibleProject(table.projectId, rights),
): SQL =>
  and(
    anyOf(table.organizationId, rights.reach),
    or(and(isNull(table.projectId), anyOf(table.organizationId, rights.organizations)), inProject),
  )

/** The same rule for records that can be deleted: those that are not. */
export const liveOfTeamOrProject =
  (table: Record<'organizationId' | 'projectId' | 'deletedAt', PgColumn>) =>
  (rights: Rights): SQL =>
    and(isNull(table.deletedAt), ofTeamOrProject(table, rights))
