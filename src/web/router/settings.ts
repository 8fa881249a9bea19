/** The settings of the reader's account. */
import { createRoute, type RouteComponent, redirect } from '@tanstack/react-router'
import { signedInRoute } from './inside.ts'
import { lazyPage } from './page-gate.tsx'

const settingsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings',
  ...lazyPage(() => import('../routes/settings/layout.tsx'), 'SettingsLayout'),
})

const settingsIndexRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/profile', replace: true })
  },
})

/** Every page of the settings is a chunk of its own. */
const settingsPage = <const P extends string>(path: P, load: () => Promise<{ Settings: RouteComponent }>) =>
  createRoute({ getParentRoute: () => settingsRoute, path, ...lazyPage(load, 'Settings') })

const pages = [
  settingsPage('/profile', () => import('../routes/settings/profile.tsx')),
  settingsPage('/security', () => import('../routes/settings/security.tsx')),
  settingsPage('/passkeys', () => import('../routes/settings/passkeys.tsx')),
  settingsPage('/sessions', () => import('../routes/settings/sessions.tsx')),
  settingsPage('/keys', () => import('../routes/settings/keys.tsx')),
  settingsPage('/grants', () => import('../routes/settings/grants.tsx')),
  settingsPage('/accounts', () => import('../routes/settings/accounts.tsx')),
  settingsPage('/integrations', () => import('../routes/settings/integrations.tsx')),
  settingsPage('/preferences', () => import('../routes/settings/preferences.tsx')),
  settingsPage('/notifications', () => import('../routes/settings/notifications.tsx')),
  settingsPage('/data', () => import('../routes/settings/data.tsx')),
] as const

export const settingsPages = settingsRoute.addChildren([settingsIndexRoute, ...pages])
