/** The frame of every page: top bar, sidebar and status bar; on a phone a header and a tab bar. */
import { Outlet, useRouteContext } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { FootProvider } from '../components/foot.tsx'
import { setShortcuts } from '../keys.ts'
import { lazy } from '../lazy.ts'
import { follow, useLiveState } from '../live.ts'
import { useQuestion } from '../reauth.ts'
import { words } from '../words.ts'
import { ActingBar } from './acting.tsx'
import { Foot } from './foot-line.tsx'
import { Keys } from './keys.tsx'
import { PhoneHead, TabBar } from './phone.tsx'
import { Sidebar } from './sidebar.tsx'
import { Top } from './top.tsx'

export function Frame() {
  const { team, me } = useRouteContext({ from: '/inside' })
  useEffect(() => follow(team.id), [team.id])
  useEffect(() => setShortcuts(me.preferences.shortcuts !== 'off'), [me.preferences.shortcuts])
  return (
    <FootProvider>
      <Hatching />
      <div className="app">
        <a className="skip" href="#page">
          {words.skip}
        </a>
        <Top />
        <PhoneHead />
        <Sidebar />
        <main id="page" tabIndex={-1}>
          <OfflineBar />
          <Outlet />
        </main>
        <Foot />
        <TabBar />
      </div>
      <Keys />
      <Question />
      <ActingBar />
    </FootProvider>
  )
}

/** Rarely needed, so it is loaded on demand. */
const Reauth = lazy(async () => ({ default: (await import('./reauth.tsx')).Reauth }))

function Question() {
  const question = useQuestion()
  return (
    question && (
      <Suspense>
        <Reauth question={question} />
      </Suspense>
    )
  )
}

/** Also on phones, which have no status bar. */
function OfflineBar() {
  const away = useLiveState() === 'away'
  const [long, setLong] = useState(false)
  useEffect(() => {
    setLong(false)
    // A short interruption must not move the page.
    const timer = away ? setTimeout(() => setLong(true), 3000) : undefined
    return () => clearTimeout(timer)
  }, [away])
  return (
    long && (
      <p className="offline" role="status">
        {words.offline}
      </p>
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
