import type { Feature } from '../../feature.ts'
import { alreadySetUpPage, setupPage } from '../../pages/account-pages.ts'
import { createAdminCommand, setPasswordCommand } from './control.ts'
import { setPassword } from './passwords.ts'
import { accountRoutes } from './routes.ts'
import { createAdmin, isSetUp } from './service.ts'

export const accounts: Feature = {
  control: [createAdminCommand.handle(createAdmin), setPasswordCommand.handle(setPassword)],
  routes: accountRoutes,
  pages: { '/setup': async (ctx) => ({ body: (await isSetUp(ctx, {})) ? alreadySetUpPage : setupPage }) },
}
