import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { TaskBody } from './body.tsx'
import { taskQuery } from './queries.ts'

const route = getRouteApi('/inside/tasks/$key')

export function TaskPage() {
  const { key } = route.useParams()
  const { data: task } = useSuspenseQuery(taskQuery(key))
  return (
    <section className="panel whole" aria-label={task.key}>
      <TaskBody task={task} level={1} />
    </section>
  )
}
