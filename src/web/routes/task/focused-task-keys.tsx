/** The keys of tasks, on pages that name tasks in rows of their own. Loaded once such a row gets the focus. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { teamsQuery } from '../../account/session.ts'
import { lazy } from '../../lib/lazy.ts'
import { TASK_ROW } from '../tasks/pickers/press-field.ts'

const TaskKeys = lazy(async () => ({ default: (await import('./task-keys.tsx')).TaskKeys }))

export function FocusedTaskKeys() {
  const { team } = useRouteContext({ from: '/inside' })
  const role = useQuery(teamsQuery).data?.find(({ id }) => id === team.id)?.role
  const [wanted, setWanted] = useState(false)
  useEffect(() => {
    const load = ({ target }: FocusEvent) => {
      if (target instanceof Element && target.closest(TASK_ROW)) setWanted(true)
    }
    document.addEventListener('focusin', load)
    return () => document.removeEventListener('focusin', load)
  }, [])
  if (!wanted || role === undefined || role === 'viewer') return null
  return (
    <Suspense>
      <TaskKeys />
    </Suspense>
  )
}
