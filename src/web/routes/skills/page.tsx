/** The skills that the reader, their team and everyone can use, the last changed first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { GraduationCap } from 'lucide-react'
import type { SkillItem } from '../../../features/skills/schema.ts'
import { filterChoices, RecordCells, RecordList } from '../../components/list/record-list.tsx'
import { lazy } from '../../lib/lazy.ts'
import { skillsQuery } from './queries.ts'
import { scopeNames, words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('../skill/skill-editor.tsx')).CreateSkillDialog }))

const route = getRouteApi('/inside/skills')

export function SkillsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const found = useInfiniteQuery(skillsQuery(team.id, search))
  return (
    <RecordList
      words={words}
      found={found}
      filters={[{ name: 'scope', label: words.scope, values: filterChoices(scopeNames), chosen: search.scope }]}
      q={search.q}
      onNarrow={(change) => void navigate({ search: (before) => ({ ...before, ...change }) })}
      may={found.data?.pages[0]?.can?.create === true}
      create={(close) => (
        <CreateDialog onClose={close} onCreated={(id) => void navigate({ to: '/skills/$id', params: { id } })} />
      )}
      row={(skill) => <Row skill={skill} />}
    />
  )
}

const Row = ({ skill: { slug, name, description, scope, updatedAt } }: { skill: SkillItem }) => (
  <Link className="recrow" to="/skills/$id" params={{ id: slug }}>
    <RecordCells
      glyph={<GraduationCap className="i soft" aria-hidden />}
      title={name}
      text={<span className="soft t12 cut">{description}</span>}
      flag={<span className={scope === 'public' ? 'flag info' : 'flag'}>{scopeNames[scope]}</span>}
      updatedAt={updatedAt}
    />
  </Link>
)
