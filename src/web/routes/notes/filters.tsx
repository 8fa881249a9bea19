import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { ChevronDown, X } from 'lucide-react'
import { Menu } from '../../components/menu.tsx'
import { projectsQuery } from '../../session.ts'
import { type NoteSearch, scopes } from './search.ts'
import { words } from './words.ts'

interface Props {
  search: NoteSearch
  onChange(change: Partial<NoteSearch>): void
}

export const Filters = ({ search, onChange }: Props) => (
  <>
    <fieldset className="seg" aria-label={words.who}>
      {[undefined, ...scopes].map((scope) => (
        <button
          key={scope ?? ''}
          type="button"
          aria-pressed={search.scope === scope}
          onClick={() => onChange({ scope })}
        >
          {scope ? words.scopes[scope] : words.all}
        </button>
      ))}
    </fieldset>
    <ProjectFilter search={search} onChange={onChange} />
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const q = new FormData(event.currentTarget).get('q')
        onChange({ q: typeof q === 'string' && q.trim() !== '' ? q.trim() : undefined })
      }}
    >
      <input
        key={search.q ?? ''}
        className="input slim"
        name="q"
        type="search"
        maxLength={200}
        defaultValue={search.q}
        placeholder={words.find}
        aria-label={words.find}
      />
    </form>
    {search.tag && <Chip label={words.tag} value={search.tag} onRemove={() => onChange({ tag: undefined })} />}
    {search.q && <Chip label={words.text} value={search.q} onRemove={() => onChange({ q: undefined })} />}
  </>
)

const Chip = ({ label, value, onRemove }: { label: string; value: string; onRemove(): void }) => (
  <button type="button" className="chip" aria-label={words.remove(`${label} ${value}`)} onClick={onRemove}>
    <span>{label}</span>
    <b>{value}</b>
    <X className="i s12" aria-hidden />
  </button>
)

function ProjectFilter({ search, onChange }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const name = projects.find(({ slug }) => slug === search.project)?.name ?? search.project
  return (
    <Menu
      trigger={
        <button type="button" className="btn quiet small">
          <span className="hide">{words.project}: </span>
          {name ?? words.anyProject}
          <ChevronDown className="i s12" aria-hidden />
        </button>
      }
      entries={[
        { value: '', label: words.anyProject, chosen: !search.project },
        ...projects.map(({ slug, name }) => ({ value: slug, label: name, chosen: slug === search.project })),
      ]}
      onChoose={(slug) => onChange({ project: slug || undefined })}
    />
  )
}
