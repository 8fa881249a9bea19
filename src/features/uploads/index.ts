import type { Feature } from '../../feature.ts'
import { clearUploadOwner } from './account.ts'
import { uploadRoutes } from './routes.ts'
import { countPictures } from './service.ts'

export const uploads: Feature = { routes: uploadRoutes, hooks: [clearUploadOwner, countPictures] }
