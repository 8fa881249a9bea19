import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { memoryQuery } from './queries.ts'

const route = getRouteApi('/inside/memories/$id')

export function MemoryPage() {
  const { id } = route.useParams()
  const { data: memory } = useSuspenseQuery(memoryQuery(id))
  const title = memory.title ?? memory.content.slice(0, 100)
  return (
    <section className="panel whole" aria-label={title}>
      <div className="body">
        <div className="txt">
          <h1 className="h1">{title}</h1>
          <Markdown text={memory.content} />
        </div>
      </div>
    </section>
  )
}
