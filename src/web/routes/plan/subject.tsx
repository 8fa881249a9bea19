/** What the address names: an epic or a story, with its text, above the plan. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { priorityNames, statusNames } from '../../words.ts'
import { planSubjectQuery } from './queries.ts'
import { words } from './words.ts'

export default function PlanSubject({
  slug,
  epicId,
  storyId,
}: {
  slug: string
  epicId: string
  storyId?: string | undefined
}) {
  const { data } = useQuery(planSubjectQuery(slug, epicId, storyId))
  if (!data) return null
  const { title, status, priority, description } = data
  return (
    <section className="querywrap stack s1" aria-label={title}>
      <header className="row">
        <StatusGlyph status={status} name={statusNames[status]} />
        <h2 className="h2 cut">{title}</h2>
        <span className="soft t12 nowrap">{words.kindOf(storyId ? 'story' : 'epic', priorityNames[priority])}</span>
        <Link className="link t12 nowrap end" to="/projects/$slug/plan" params={{ slug }}>
          {words.whole}
        </Link>
      </header>
      {description && <Markdown text={description} />}
    </section>
  )
}
