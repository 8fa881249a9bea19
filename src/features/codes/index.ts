import type { Feature } from '../../feature.ts'
import { codeRoutes } from './routes.ts'

export const codes: Feature = { routes: codeRoutes }
