/** Completes the task with the focus in a list by its key. */
import { useQueryClient } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { type ReactNode, Suspense, useState } from 'react'
import type { TaskDetail } from '../../../../features/tasks/schema.ts'
import { lazy } from '../../../lib/lazy.ts'

const CompletePopoverAt = lazy(async () => ({
  default: (await import('../../task/complete/complete-popover.tsx')).CompletePopoverAt,
}))
const loadCompletion = () => import('../../task/complete/complete-listed.ts')

interface CompleteListed {
  complete(key: string, anchor: Element): void
  /** Asks before it completes a task in which something is open. */
  popover: ReactNode
}

export function useCompleteListed(onFocusLost?: (task: TaskDetail) => void): CompleteListed {
  const { me } = useRouteContext({ from: '/inside' })
  const cache = useQueryClient()
  const [asked, setAsked] = useState<{ task: TaskDetail; anchor: Element }>()
  const begin = async (key: string, anchor: Element) => {
    const task = await (await loadCompletion()).beginCompletion(cache, key, me.id)
    if (task) setAsked({ task, anchor })
  }
  const close = () => {
    setAsked(undefined)
    if (asked) onFocusLost?.(asked.task)
  }
  return {
    complete: (key, anchor) => void begin(key, anchor),
    popover: asked && (
      <Suspense>
        <CompletePopoverAt
          {...asked}
          onComplete={(how) =>
            void loadCompletion().then(({ completeListed }) => completeListed(cache, asked.task, how))
          }
          onClose={close}
        />
      </Suspense>
    ),
  }
}
