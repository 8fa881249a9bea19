import type { Feature } from '../../feature.ts'
import * as events from './events.ts'

export const users: Feature = { events: Object.values(events) }
