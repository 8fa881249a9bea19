import { useSuspenseQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { featureQuery } from './queries.ts'

export function FeaturePage() {
  const { id } = useParams({ strict: false })
  const { data: feature } = useSuspenseQuery(featureQuery(id ?? ''))
  return (
    <div className="scroll">
      <div className="page wide stack s5 feat">
        <header className="row wide">
          <h1 className="h1 grow">{feature.title}</h1>
          <span className="flag">{feature.status}</span>
        </header>
        {feature.description && <Markdown text={feature.description} />}
      </div>
    </div>
  )
}
