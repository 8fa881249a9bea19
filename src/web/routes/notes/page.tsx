/** The notes of the team and one's own, by words, tag, project and who sees them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Globe, Lock, Pin } from 'lucide-react'
import type { NoteItem } from '../../../features/notes/schema.ts'
import { membersQuery, projectsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { filterChoices, projectFilter, RecordList } from '../../components/list/record-list.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { CreateNoteDialog } from './create.tsx'
import { notesQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/notes')

export function NotesPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const found = useInfiniteQuery(notesQuery(team.id, search))
  return (
    <RecordList
      words={{ ...words, create: words.newNote }}
      found={found}
      filters={[
        { name: 'scope', label: words.who, values: filterChoices(words.scopes), chosen: search.scope },
        projectFilter(words.project, projects, search.project),
        { name: 'tag', label: words.tag, values: [], chosen: search.tag },
      ]}
      q={search.q}
      onNarrow={narrow}
      may={found.data?.pages[0]?.can?.create === true}
      create={(close) => <CreateNoteDialog project={search.project} onClose={close} />}
      size={52}
      row={(note) => <Row note={note} onTag={(tag) => narrow({ tag })} />}
    />
  )
}

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
