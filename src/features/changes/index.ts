import type { Feature } from '../../feature.ts'
import { removeChanges } from './account.ts'
import { recordChange } from './recording.ts'
import { changeRoutes } from './routes.ts'

export const changes: Feature = { routes: changeRoutes, hooks: [recordChange, removeChanges] }
