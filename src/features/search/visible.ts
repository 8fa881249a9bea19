import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Rights } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import { ofTeamOrProject } from '../projects/visible.ts'
import { passages } from './table.ts'

/** SQL condition for findable passages. It applies before anything is ranked or limited. */
export const visibleTo = (rights: Rights): SQL => {
  const personal = and(isNull(passages.organizationId), eq(passages.userId, rights.personal))
  // Evaluated once for all passages, not once for each.
  const inProject = sql`${passages.projectId} in (select ${projectTable.id} from ${projectTable}
    where ${projects.visibleTo(rights)})`
  const toAll = or(isNull(passages.userId), eq(passages.userId, rights.user))
  return or(personal, and(ofTeamOrProject(passages, rights, inProject), toAll))
}
