/** One note: its text, read or written, and around it who sees it, what it links to and what links to it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { NoteRead } from '../../../features/notes/schema.ts'
import { InlineEdit, titleLook } from '../../components/form/inline-edit.tsx'
import { SaveError } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { useKey } from '../../shortcuts.ts'
import { hasTextDraft, useUserId } from '../../writing/text-draft.ts'
import { NoteEditor, noteDraftName } from './note-editor.tsx'
import { noteLinksQuery, noteQuery, useChangeNote } from './queries.ts'
import { NoteSide } from './side.tsx'
import { words } from './words.ts'

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
  const links = useQuery(noteLinksQuery(note.id)).data
  const titles = useMemo(
    () => new Map(links?.mentions.map(({ id, title }) => [title.toLowerCase(), `/notes/${id}`])),
    [links],
  )
  const change = useChangeNote(note)
  const may = note.can?.update === true
  const userId = useUserId()
  const [isWriting, setWriting] = useState(may && (edit === true || hasTextDraft(userId, noteDraftName(note.id))))
  useKey('e', () => may && setWriting(true))
  useStatusBarLeft(keys)
  useCrumbs({ label: words.notes, to: '/notes' }, { label: note.title, record: note.id })
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
              look={titleLook}
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
            <NoteEditor note={note} titles={titles} onDone={() => setWriting(false)} />
          ) : (
            <Reading note={note} titles={titles} onFollow={follow} />
          )}
        </div>
        <NoteSide note={note} links={links} onChange={change.mutate} />
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
