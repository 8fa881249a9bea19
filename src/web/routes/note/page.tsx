/** One note: its text, read or written, and around it who sees it, what it links to and what links to it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { NoteRead } from '../../../features/notes/schema.ts'
import { Kbd, useFootLeft } from '../../components/foot.tsx'
import { asTitle, InlineEdit } from '../../components/inline-edit.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { SaveError } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { useKey } from '../../keys.ts'
import { hasDraft } from './draft.ts'
import { linksQuery, noteQuery, useChange } from './queries.ts'
import { Side } from './side.tsx'
import { words } from './words.ts'
import { Writing } from './writing.tsx'

const route = getRouteApi('/inside/notes/$id')

const keys = (
  <span className="row">
    <Kbd>e</Kbd>
    {words.keys.edit}
  </span>
)

export function NotePage() {
  const { id } = route.useParams()
  const { data: note } = useSuspenseQuery(noteQuery(id))
  // A note can be named by its slug or the beginning of its id; what is written belongs to the note itself.
  return <Body key={note.id} note={note} />
}

function Body({ note }: { note: NoteRead }) {
  const { edit } = route.useSearch()
  const navigate = useNavigate()
  const links = useQuery(linksQuery(note.id)).data
  const titles = useMemo(
    () => new Map(links?.mentions.map(({ id, title }) => [title.toLowerCase(), `/notes/${id}`])),
    [links],
  )
  const change = useChange(note)
  const may = note.can?.update === true
  const [isWriting, setWriting] = useState(may && (edit === true || hasDraft(note.id)))
  useKey('e', () => may && setWriting(true))
  useFootLeft(keys)
  useCrumbs({ label: words.notes, to: '/notes' }, { label: note.title })
  const follow = useCallback((path: string) => void navigate({ to: path }), [navigate])
  const refused = change.error
  return (
    <section className="panel whole" aria-label={note.title}>
      <div className="body">
        <div className="txt">
          <header className="row">
            <InlineEdit
              label={words.editTitle}
              hint={words.editTitle}
              value={note.title}
              may={may}
              maxLength={200}
              look={asTitle}
              around={(title) => <h1 className="h1 grow">{title}</h1>}
              onSave={(title) => change.mutate({ title })}
            />
            {may && !isWriting && (
              <button type="button" className="btn small" onClick={() => setWriting(true)}>
                {words.edit}
              </button>
            )}
          </header>
          {refused && <SaveError error={refused} conflict={words.metOther} />}
          {isWriting && may ? (
            <Writing note={note} titles={titles} onDone={() => setWriting(false)} />
          ) : (
            <Reading note={note} titles={titles} onFollow={follow} />
          )}
        </div>
        <Side note={note} links={links} onChange={change.mutate} />
      </div>
    </section>
  )
}

interface ReadingProps {
  note: NoteRead
  titles: ReadonlyMap<string, string>
  onFollow(path: string): void
}

const Reading = ({ note, titles, onFollow }: ReadingProps) =>
  note.content.trim() === '' ? (
    <p className="soft">{words.empty}</p>
  ) : (
    <article className="prose">
      <Markdown text={note.content} title={note.title} titles={titles} onFollow={onFollow} />
    </article>
  )
