/** The frame of every page: top bar, sidebar and status bar; on a phone a header and a tab bar. */
import { Outlet, useRouteContext } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { useReauthRequest } from '../account/reauth.ts'
import { useIconsOnly } from '../account/sidebar-width.ts'
import { StatusBarProvider } from '../components/status-bar.tsx'
import { lazy } from '../lib/lazy.ts'
import { followTeamEvents } from '../live/connection.ts'
import { setShortcutsEnabled } from '../shortcuts.ts'
import { loadWaitingCode, waitingCode } from '../waiting/send-or-wait.ts'
import { words } from '../words.ts'
import { GlobalShortcuts } from './global-shortcuts.tsx'
import { ImpersonationBar } from './impersonation-bar.tsx'
import { PhoneHead, TabBar } from './phone.tsx'
import { SectionTabs } from './section-tabs.tsx'
import { Sidebar } from './sidebar/sidebar.tsx'
import { StatusBar } from './status-bar.tsx'
import { TopBar } from './top-bar.tsx'

export function Frame() {
  const { team, me } = useRouteContext({ from: '/inside' })
  useEffect(() => followTeamEvents(team.id), [team.id])
  useEffect(() => setShortcutsEnabled(me.preferences.shortcuts !== 'off'), [me.preferences.shortcuts])
  return (
    <StatusBarProvider>
      <Hatching />
      <div className={useIconsOnly() ? 'app slim' : 'app'}>
        <a className="skip" href="#page">
          {words.skip}
        </a>
        <TopBar />
        <PhoneHead />
        <Sidebar />
        <main id="page" tabIndex={-1}>
          <ConnectionBar />
          <SectionTabs />
          <Outlet />
        </main>
        <StatusBar />
        <TabBar />
      </div>
      <GlobalShortcuts />
      <ReauthPrompt />
      <ImpersonationBar />
    </StatusBarProvider>
  )
}

/** Loaded ahead, because it cannot be loaded without a connection. */
function ConnectionBar() {
  const code = waitingCode.use()
  useEffect(loadWaitingCode, [])
  return code && <code.OfflineBar />
}

/** Rarely needed, so it is loaded on demand. */
const Reauth = lazy(async () => ({ default: (await import('./reauth.tsx')).ReauthDialog }))

function ReauthPrompt() {
  const question = useReauthRequest()
  return (
    question && (
      <Suspense>
        <Reauth question={question} />
      </Suspense>
    )
  )
}

/** The pattern that means "stalled", for every drawing that needs it. */
const Hatching = () => (
  <svg width="0" height="0" className="hide" aria-hidden>
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0v6" stroke="var(--warn)" strokeWidth="1.5" opacity=".55" />
      </pattern>
    </defs>
  </svg>
)
