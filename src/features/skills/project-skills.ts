import { eq, type SQL, sql } from 'drizzle-orm'
import type { Rights } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { visibleTo } from '../projects/rows.ts'
import { projects } from '../projects/table.ts'
import { skills } from './table.ts'

/**
 * SQL condition: one of the projects that the credential is limited to names this skill of its team, by id or slug, in
 * `settings.skills`. False for a credential without a limit, which sees the team's skills anyway.
 */
export const isNamedByProject = (rights: Rights): SQL =>
  sql`exists (select 1 from ${projects} where ${and(
    anyOf(projects.id, rights.projects),
    eq(projects.organizationId, skills.organizationId),
    sql`${projects.settings} -> 'skills' ?| array[${skills.slug}, ${skills.id}::text]`,
    visibleTo(rights),
  )})`
