import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { get } from './detail.ts'
import { featureDeleted } from './events.ts'
import * as service from './service.ts'
import { featureSync } from './sync.ts'
import { features } from './table.ts'

export const featureRecord: RecordKind<Ctx> = {
  kind: 'feature',
  table: features,
  title: features.title,
  scope: 'features:read',
  visible: liveOfTeamOrProject(features),
  deleted: featureDeleted,
  inBriefs: true,
  search: { text: features.description },
  resource: {
    title: 'Feature',
    references: 'Id',
    tool: 'get_feature',
    read: (ctx, ref) => get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { limit }),
  },
  sync: featureSync,
}
