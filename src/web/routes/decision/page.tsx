import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { statusFlags, statusNames } from '../decisions/words.ts'
import { decisionQuery } from './queries.ts'

const route = getRouteApi('/inside/decisions/$id')

export function DecisionPage() {
  const { id } = route.useParams()
  const { data: decision } = useSuspenseQuery(decisionQuery(id))
  return (
    <div className="scroll">
      <div className="page stack s4">
        <header className="row wide">
          <h1 className="h1 grow">{decision.title}</h1>
          <span className={statusFlags[decision.status]}>{statusNames[decision.status]}</span>
        </header>
        <Markdown text={decision.decision} />
      </div>
    </div>
  )
}
