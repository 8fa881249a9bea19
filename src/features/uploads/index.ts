import type { Feature } from '../../feature.ts'
import { withoutOwner } from './account.ts'
import { uploadRoutes } from './routes.ts'

export const uploads: Feature = { routes: uploadRoutes, hooks: [withoutOwner] }
