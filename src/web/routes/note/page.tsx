import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Markdown } from '../../components/markdown.tsx'
import { linksQuery, noteQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/notes/$id')

export function NotePage() {
  const { id } = route.useParams()
  const { data: note } = useSuspenseQuery(noteQuery(id))
  const backlinks = useQuery(linksQuery(id)).data?.backlinks ?? []
  return (
    <section className="panel whole" aria-label={note.title}>
      <div className="body">
        <div className="txt">
          <h1 className="h1">{note.title}</h1>
          <Markdown text={note.content} />
        </div>
        <aside aria-label={words.backlinks}>
          {backlinks.map((other) => (
            <Link key={other.id} to="/notes/$id" params={{ id: other.id }}>
              {other.title}
            </Link>
          ))}
        </aside>
      </div>
    </section>
  )
}
