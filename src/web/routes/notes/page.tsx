/** The notes of the team and one's own, by words, tag, project and who sees them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Globe, Lock, Pin, Plus } from 'lucide-react'
import { useCallback, useState } from 'react'
import type { NoteItem } from '../../../features/notes/schema.ts'
import { Kbd, useFootLeft } from '../../components/foot.tsx'
import { LongList } from '../../components/long-list.tsx'
import { Avatar } from '../../components/party.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { useKey } from '../../keys.ts'
import { membersQuery, projectsQuery } from '../../session.ts'
import { ago, dayAndTime } from '../../times.ts'
import { CreateDialog } from './create.tsx'
import { notesQuery } from './queries.ts'
import { isWhole, type NoteSearch, noFilter, scopes } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/notes')

const keys = (
  <span className="row">
    <Kbd>c</Kbd>
    {words.keys.create}
  </span>
)

export function NotesPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const narrow = useCallback(
    (change: Partial<NoteSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const found = useInfiniteQuery(notesQuery(team.id, search))
  const may = found.data?.pages[0]?.can?.create === true
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true))
  useFootLeft(keys)
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <Filters search={search} onChange={narrow} />
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
            <Plus className="i s14" aria-hidden />
            {words.newNote} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      <LongList
        found={found}
        size={52}
        row={(note) => <Row note={note} onTag={(tag) => narrow({ tag })} />}
        empty={<Nothing />}
        noMatch={isWhole(search) ? undefined : words.noMatch}
        onClear={() => narrow(noFilter)}
      />
      {adding && <CreateDialog project={search.project} onClose={() => setAdding(false)} />}
    </>
  )
}

function Filters({ search, onChange }: { search: NoteSearch; onChange(change: Partial<NoteSearch>): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const filters = [
    {
      name: 'scope',
      label: words.who,
      values: scopes.map((scope) => ({ value: scope, label: words.scopes[scope] })),
      chosen: search.scope,
    },
    {
      name: 'project',
      label: words.project,
      values: projects.map(({ slug, name }) => ({ value: slug, label: name })),
      chosen: search.project,
    },
    { name: 'tag', label: words.tag, values: [], chosen: search.tag },
  ]
  return <QueryBar filters={filters} find={{ label: words.find, text: search.q }} onChange={onChange} />
}

const Nothing = () => (
  <Empty title={words.none}>
    <p className="soft">{words.noneText}</p>
    <code className="code">{words.command}</code>
  </Empty>
)

function Row({ note, onTag }: { note: NoteItem; onTag(tag: string): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const author = useQuery(membersQuery(team.id)).data?.find(({ id }) => id === note.createdById)
  const project = useQuery(projectsQuery(team.id)).data?.find(({ id }) => id === note.projectId)
  return (
    <div className="li note">
      <ScopeGlyph note={note} />
      <span className="stack s0 cut">
        <Link className="ttl cut" to="/notes/$id" params={{ id: note.id }}>
          {note.title}
        </Link>
        <span className="row tight soft t12">
          {note.pinned && <Pin className="i s12" aria-label={words.pinned} />}
          {project && <span className="cut">{project.name}</span>}
          {note.tags.slice(0, 4).map((tag) => (
            <button key={tag} type="button" className="tagb" onClick={() => onTag(tag)}>
              #{tag}
            </button>
          ))}
        </span>
      </span>
      <span className="hp">{author && <Avatar party={{ type: 'user', id: author.id, name: author.name }} />}</span>
      <time className="soft t12 num" dateTime={note.updatedAt} title={dayAndTime(note.updatedAt)}>
        {ago(note.updatedAt)}
      </time>
    </div>
  )
}

/** Who sees a note: nothing for the team, which is usual. */
function ScopeGlyph({ note: { scope } }: { note: Pick<NoteItem, 'scope'> }) {
  const name = words.scopes[scope]
  if (scope === 'team') return <span />
  const Icon = scope === 'public' ? Globe : Lock
  return (
    <span title={name}>
      <Icon className="i s14 soft" aria-label={name} />
    </span>
  )
}
