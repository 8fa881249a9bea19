import type { Feature } from '../../feature.ts'
import { passkeyRoutes } from './routes.ts'

export const passkeys: Feature = { routes: passkeyRoutes }
