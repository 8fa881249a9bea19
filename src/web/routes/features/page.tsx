/** The features of a project. */
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { LongList } from '../../components/long-list.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { priorityNames } from '../../words.ts'
import { projectQuery } from '../project/queries.ts'
import { featuresQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/projects/$slug/features')

export function FeaturesPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title(project.name)}</h1>
        <QueryBar filters={[]} find={{ label: words.find, text: search.q }} onChange={narrow} />
      </div>
      <LongList
        found={useInfiniteQuery(featuresQuery(slug, search))}
        size={56}
        row={(feature) => <Row feature={feature} />}
        empty={
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command(project.key)}</code>
          </Empty>
        }
        noMatch={search.q ? words.noMatch : undefined}
        onClear={() => narrow({ q: undefined })}
      />
    </>
  )
}

const Row = ({ feature }: { feature: FeatureItem }) => (
  <Link className="recrow" to="/features/$id" params={{ id: feature.id }}>
    <PriorityGlyph priority={feature.priority} name={priorityNames[feature.priority]} />
    <b className="b5 cut grow">{feature.title}</b>
    <span className="flag">{feature.status}</span>
    <span className="soft t12 num hp">{ago(feature.updatedAt)}</span>
  </Link>
)
