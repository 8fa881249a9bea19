import type { Feature } from '../../feature.ts'
import { listSettingsCommand, updateSettingCommand } from './control.ts'
import * as events from './events.ts'
import { settingRoutes } from './routes.ts'
import { list, update } from './service.ts'

export const settings: Feature = {
  events: Object.values(events),
  routes: settingRoutes,
  control: [listSettingsCommand.handle(list), updateSettingCommand.handle(update)],
}
