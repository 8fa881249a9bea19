/** The bar on every page while an administrator acts as a user, with the time left and a button to stop. */
import { useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'
import { stopImpersonation, useImpersonatedUser } from '../account/impersonation.ts'
import { clearRequestTeam } from '../api.ts'
import { minutesUntil } from '../lib/times.ts'
import { queryClient } from '../query-client.ts'
import { waitingCode } from '../waiting/send-or-wait.ts'
import { words } from '../words.ts'

export function ImpersonationBar() {
  const acting = useImpersonatedUser()
  const router = useRouter()
  const [, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000)
    return () => clearInterval(timer)
  }, [])
  const left = acting ? minutesUntil(acting.expiresAt) : undefined
  const stop = useCallback(async () => {
    // Requests are the administrator's at once, who may not be a member of the user's team.
    clearRequestTeam()
    // Without a connection the token is not revoked, and expires.
    await stopImpersonation().catch(() => undefined)
    queryClient.clear()
    waitingCode.get()?.endImpersonation()
    await router.navigate({ to: '/admin/users', search: { team: undefined } })
    await router.invalidate()
  }, [router])
  useEffect(() => {
    if (left === 0) void stop()
  }, [left, stop])
  if (!acting) return null
  return (
    <div className="actingbar" role="status">
      <b className="b6">{words.acting.as(acting.name)}</b>
      <span>{words.minutesLeft(left ?? 0)}</span>
      <button type="button" className="btn small" onClick={() => void stop()}>
        {words.acting.stop}
      </button>
    </div>
  )
}
