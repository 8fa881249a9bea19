import { eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import type { RecordKind } from '../../records/kind.ts'
import { inVisibleProject } from '../projects/visible.ts'
import { sessionItemColumns } from './rows.ts'
import * as service from './service.ts'
import { sessions } from './table.ts'

/** Only its user sees a session. */
export const sessionRecord: RecordKind<Ctx> = {
  kind: 'session',
  table: sessions,
  title: sql`coalesce(left(${sessions.goals}[1], 300),
      'Session of ' || to_char(${sessions.startedAt} at time zone 'UTC', 'YYYY-MM-DD'))`,
  scope: 'sessions:read',
  visible: (rights) =>
    and(
      eq(sessions.userId, rights.user),
      or(
        anyOf(sessions.organizationId, rights.organizations),
        // For a credential that is limited to projects, which has no organizations.
        and(anyOf(sessions.projectId, rights.projects), inVisibleProject(sessions.projectId, rights)),
      ),
    ),
  status: sessions.status,
  item: sessionItemColumns,
  search: {
    title: sql`coalesce(${sessions.goals}[1], 'Work session')`,
    text: sql`concat_ws(e'\n\n', array_to_string(${sessions.goals}, e'\n'), ${sessions.context}, ${sessions.summary},
        ${sessions.checkpoint} ->> 'nextStep')`,
    userId: sessions.userId,
    agentId: sessions.agentId,
    sessionId: sessions.id,
  },
  resource: {
    title: 'Session',
    references: 'Id',
    tool: 'list_sessions',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
}
