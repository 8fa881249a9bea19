import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { personalOwner, type RecordKind } from '../../records/kind.ts'
import { getAgentDetail } from './detail.ts'
import { agentDeleted } from './events.ts'
import { visibleTo } from './rows.ts'
import { listFor } from './service.ts'
import { agentSync } from './sync.ts'
import { agents } from './table.ts'

export const agentRecord: RecordKind<Ctx> = {
  kind: 'agent',
  table: agents,
  title: agents.name,
  scope: 'agents:read',
  visible: visibleTo,
  deleted: agentDeleted,
  key: agents.slug,
  ownerId: agents.createdById,
  search: { text: sql`concat_ws(e'\n\n', ${agents.role}, ${agents.persona})`, userId: personalOwner(agents) },
  resource: {
    title: 'Agent',
    references: 'Slug or id',
    tool: 'get_agent',
    read: async (ctx, ref) => {
      const { can: _, ...agent } = await getAgentDetail(ctx, { ref })
      return agent
    },
    list: (ctx, limit) => listFor(ctx, { limit }),
  },
  sync: agentSync,
}
