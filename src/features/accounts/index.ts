import type { Feature } from '../../feature.ts'
import { createAdminCommand, setPasswordCommand } from './control.ts'
import { setPassword } from './passwords.ts'
import { accountRoutes } from './routes.ts'
import { createAdmin } from './service.ts'

export const accounts: Feature = {
  control: [createAdminCommand.handle(createAdmin), setPasswordCommand.handle(setPassword)],
  routes: accountRoutes,
}
