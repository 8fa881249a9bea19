import { type ComponentProps, Suspense } from 'react'
import { lazy } from '../../lib/lazy.ts'

const NewTaskDialog = lazy(() => import('../new-task/dialog.tsx'))

/** The dialog for a new task, which is loaded when someone opens it. */
export const CreateTaskDialog = (props: ComponentProps<typeof NewTaskDialog>) => (
  <Suspense>
    <NewTaskDialog {...props} />
  </Suspense>
)
