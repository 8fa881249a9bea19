import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import * as service from './service.ts'
import { specSync } from './sync.ts'
import { specs } from './table.ts'

export const specRecord: RecordKind<Ctx> = {
  kind: 'spec',
  table: specs,
  title: specs.title,
  scope: 'specs:read',
  visible: liveOfTeamOrProject(specs),
  key: specs.slug,
  status: specs.status,
  inBriefs: true,
  search: { text: specs.content },
  resource: {
    title: 'Spec',
    references: 'Slug or id',
    tool: 'get_spec',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: specSync,
}
