import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { contactForms, contactPages } from './html.ts'
import { contactRoutes } from './routes.ts'

export const contact: Feature = {
  events: Object.values(events),
  routes: contactRoutes,
  site: contactPages,
  forms: contactForms,
}
