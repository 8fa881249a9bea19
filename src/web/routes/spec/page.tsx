import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { statusFlags, statusNames } from '../specs/words.ts'
import { specQuery } from './queries.ts'

const route = getRouteApi('/inside/specs/$id')

export function SpecPage() {
  const { id } = route.useParams()
  const { data: spec } = useSuspenseQuery(specQuery(id))
  return (
    <div className="scroll">
      <div className="page stack s4">
        <header className="row wide">
          <h1 className="h1 grow">{spec.title}</h1>
          <span className={statusFlags[spec.status]}>{statusNames[spec.status]}</span>
        </header>
        <Markdown text={spec.content} />
      </div>
    </div>
  )
}
