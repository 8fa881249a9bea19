import { isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Rights } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { isNotBySuspendedAuthor } from '../users/suspended.ts'
import { visibleTo } from './rows.ts'
import { projects } from './table.ts'

/** SQL condition: the record's project is visible to the caller. */
export const inVisibleProject = (projectId: PgColumn, rights: Rights): SQL =>
  sql`exists (select 1 from ${projects} where ${projects.id} = ${projectId} and ${visibleTo(rights)})`

/** SQL condition: everyone can read the project. Contains literals, so that Postgres can use the partial indexes. */
export const isPublic = sql`${projects.visibility} = 'public' and ${projects.deletedAt} is null
  and ${isNotBySuspendedAuthor(projects.createdById)}`

/**
 * THE RULE for published records: a record of a project is public only while the project is, so unsharing the project
 * hides all its records. Each feature decides whether a record itself is published.
 */
export const mayBePublic = (projectId: PgColumn): SQL =>
  sql`(${projectId} is null or exists (select 1 from ${projects} where ${projects.id} = ${projectId} and ${isPublic}))`

/**
 * THE RULE for records that teams own: a record of a project is visible to everyone who sees the project, any other to
 * the team's members. `inProject` can replace the first condition where `exists` for each row is slow.
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

/** Applies `ofTeamOrProject`, and leaves out deleted records. */
export const liveOfTeamOrProject =
  (table: Record<'organizationId' | 'projectId' | 'deletedAt', PgColumn>) =>
  (rights: Rights): SQL =>
    and(isNull(table.deletedAt), ofTeamOrProject(table, rights))
