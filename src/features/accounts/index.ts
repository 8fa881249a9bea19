import type { Feature } from '../../feature.ts'
import { setPassword } from './passwords.ts'
import { accountRoutes } from './routes.ts'
import { createAdmin } from './service.ts'

export const accounts: Feature = { control: [createAdmin, setPassword], routes: accountRoutes }
