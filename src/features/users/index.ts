import type { Feature } from '../../feature.ts'
import { userName } from '../../mcp/hooks.ts'
import * as events from './events.ts'
import { activeUser } from './service.ts'

export const users: Feature = {
  events: Object.values(events),
  hooks: [userName.handle(async (ctx, { userId }) => (await activeUser(ctx, userId))?.name)],
}
