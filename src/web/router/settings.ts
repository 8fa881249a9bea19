/** The settings of the reader's account. */
import { createRoute, type RouteComponent, redirect } from '@tanstack/react-router'
import { lazyPage } from '../lazy.ts'
import { inside } from './inside.ts'

const settingsRoute = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  component: lazyPage(() => import('../routes/settings/layout.tsx'), 'SettingsLayout'),
})

const settingsIndexRoute = createRoute({
  getParentRoute: () => settingsRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/profile', replace: true })
  },
})

/** Every page of the settings is a chunk of its own. */
const ofSettings = <const P extends string>(path: P, load: () => Promise<{ Settings: RouteComponent }>) =>
  createRoute({ getParentRoute: () => settingsRoute, path, component: lazyPage(load, 'Settings') })

const pages = [
  ofSettings('/profile', () => import('../routes/settings/profile.tsx')),
  ofSettings('/security', () => import('../routes/settings/security.tsx')),
  ofSettings('/passkeys', () => import('../routes/settings/passkeys.tsx')),
  ofSettings('/sessions', () => import('../routes/settings/sessions.tsx')),
  ofSettings('/keys', () => import('../routes/settings/keys.tsx')),
  ofSettings('/grants', () => import('../routes/settings/grants.tsx')),
  ofSettings('/accounts', () => import('../routes/settings/accounts.tsx')),
  ofSettings('/integrations', () => import('../routes/settings/integrations.tsx')),
  ofSettings('/preferences', () => import('../routes/settings/preferences.tsx')),
  ofSettings('/notifications', () => import('../routes/settings/notifications.tsx')),
  ofSettings('/data', () => import('../routes/settings/data.tsx')),
] as const

export const settings = settingsRoute.addChildren([settingsIndexRoute, ...pages])
