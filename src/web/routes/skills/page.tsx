/** The skills that the reader, their team and everybody can use, the last changed first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { GraduationCap, Plus } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { SkillItem } from '../../../features/skills/schema.ts'
import { Kbd } from '../../components/foot.tsx'
import { LongList } from '../../components/long-list.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { useKey } from '../../keys.ts'
import { lazy } from '../../lazy.ts'
import { ago } from '../../times.ts'
import { skillsQuery } from './queries.ts'
import { scopeNames, words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('../skill/writing.tsx')).CreateDialog }))

const route = getRouteApi('/inside/skills')

export function SkillsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const found = useInfiniteQuery(skillsQuery(team.id, search))
  const may = found.data?.pages[0]?.can?.create === true
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), may ? { label: words.create } : {})
  const filtered = Boolean(search.q || search.scope)
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <QueryBar
          filters={[
            {
              name: 'scope',
              label: words.scope,
              values: Object.entries(scopeNames).map(([value, label]) => ({ value, label })),
              chosen: search.scope,
            },
          ]}
          find={{ label: words.find, text: search.q }}
          onChange={narrow}
        />
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
            <Plus className="i s14" aria-hidden />
            {words.create} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      <LongList
        found={found}
        size={56}
        row={(skill) => <Row skill={skill} />}
        empty={
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            {may && (
              <p className="voidact">
                <button type="button" className="btn main" onClick={() => setAdding(true)}>
                  {words.create}
                </button>
              </p>
            )}
            <code className="code">{words.command}</code>
          </Empty>
        }
        noMatch={filtered ? words.noMatch : undefined}
        onClear={() => narrow({ q: undefined, scope: undefined })}
      />
      {adding && (
        <Suspense>
          <CreateDialog
            onClose={() => setAdding(false)}
            onCreated={(id) => void navigate({ to: '/skills/$id', params: { id } })}
          />
        </Suspense>
      )}
    </>
  )
}

const Row = ({ skill }: { skill: SkillItem }) => (
  <Link className="recrow" to="/skills/$id" params={{ id: skill.slug }}>
    <GraduationCap className="i soft" aria-hidden />
    <span className="grow stack s1">
      <b className="b5 cut">{skill.name}</b>
      <span className="soft t12 cut">{skill.description}</span>
    </span>
    <span className={skill.scope === 'public' ? 'flag info' : 'flag'}>{scopeNames[skill.scope]}</span>
    <span className="soft t12 num hp">{ago(skill.updatedAt)}</span>
  </Link>
)
