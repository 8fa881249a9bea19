import type { Feature } from '../../feature.ts'
import { withoutOwner } from './account.ts'
import { uploadRoutes } from './routes.ts'
import { countPictures } from './service.ts'

export const uploads: Feature = { routes: uploadRoutes, hooks: [withoutOwner, countPictures] }
