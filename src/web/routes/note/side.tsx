import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { Globe, Lock, Pin, Trash2, Users } from 'lucide-react'
import type { NoteLinks, NotePatch, NoteRead } from '../../../features/notes/schema.ts'
import { membersQuery, projectsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { splitList } from '../../components/form/form.tsx'
import { InlineEdit } from '../../components/form/inline-edit.tsx'
import { Property } from '../../components/section.tsx'
import { toast } from '../../components/toasts.tsx'
import { copyText } from '../../lib/clipboard.ts'
import { ago, dayAndTime } from '../../lib/times.ts'
import { FileList } from '../../writing/record-files.tsx'
import { useRemoveNote, useRestoreNote } from './queries.ts'
import { words } from './words.ts'

interface Props {
  note: NoteRead
  links: NoteLinks | undefined
  onChange(patch: NotePatch): void
}

export function NoteSide({ note, links, onChange }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const author = useQuery(membersQuery(team.id)).data?.find(({ id }) => id === note.createdById)
  const project = useQuery(projectsQuery(team.id)).data?.find(({ id }) => id === note.projectId)
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.seenBy}>
          <Seen scope={note.scope} />
        </Property>
        {project && (
          <Property name={words.project}>
            <Link className="cut" to="/projects/$slug" params={{ slug: project.slug }}>
              {project.name}
            </Link>
          </Property>
        )}
        <Tags note={note} onChange={onChange} />
        {author && (
          <Property name={words.author}>
            <Avatar party={{ type: 'user', id: author.id, name: author.name }} />
            {author.name}
          </Property>
        )}
        <Property name={words.changed}>
          <time dateTime={note.updatedAt} title={dayAndTime(note.updatedAt)}>
            {ago(note.updatedAt)}
          </time>
          <span className="soft t12">{words.version(note.version)}</span>
        </Property>
      </dl>
      <Acts note={note} onChange={onChange} />
      <FileList holder={{ kind: 'note', id: note.id }} may={note.can?.update === true} />
      <Titles title={words.backlinks} notes={links?.backlinks ?? []} />
      <Titles title={words.mentions} notes={links?.mentions ?? []} />
    </aside>
  )
}

const seen = { personal: Lock, team: Users, public: Globe }
function Seen({ scope }: Pick<NoteRead, 'scope'>) {
  const Icon = seen[scope]
  return (
    <>
      <Icon className="i s14" aria-hidden />
      {words.scopes[scope]}
    </>
  )
}

const Titles = ({ title, notes }: { title: string; notes: NoteLinks['backlinks'] }) =>
  notes.length > 0 && (
    <section className="sect stack s1">
      <header>
        <h2 className="h2">{title}</h2>
        <span className="n">{notes.length}</span>
      </header>
      <ul className="stack s1">
        {notes.map((note) => (
          <li key={note.id} className="t13">
            <Link className="a" to="/notes/$id" params={{ id: note.id }}>
              {note.title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )

function Tags({ note, onChange }: Omit<Props, 'links'>) {
  const may = note.can?.update === true
  const value = note.tags.join(', ')
  if (value === '' && !may) return null
  return (
    <Property name={words.tags}>
      <InlineEdit
        label={words.tags}
        value={value}
        may={may}
        placeholder={words.withCommas}
        clears
        onSave={(text) => onChange({ tags: splitList(text) })}
      >
        {value === '' ? <span className="soft">{words.notSet}</span> : note.tags.map((tag) => `#${tag}`).join(' ')}
      </InlineEdit>
    </Property>
  )
}

/** The address at which everyone reads a published note. */
const publicPath = ({ slug }: NoteRead): string => `/api/notes/public/${slug}`

function Acts({ note, onChange }: Omit<Props, 'links'>) {
  const isPublic = note.scope === 'public'
  const share = (scope: NoteRead['scope']) => {
    onChange({ scope })
    const undo = { label: words.undo, run: () => onChange({ scope: note.scope }) }
    toast({ title: scope === 'public' ? words.published : words.unpublished, action: undo })
  }
  const copy = async () => {
    await copyText(new URL(publicPath(note), location.href).href)
    toast({ title: words.copied })
  }
  return (
    <div className="stack">
      {isPublic && (
        <button type="button" className="btn" onClick={() => void copy()}>
          {words.copyLink}
        </button>
      )}
      {note.can?.publish === true && (
        <button type="button" className="btn" onClick={() => share(isPublic ? 'team' : 'public')}>
          <Globe className="i s14" aria-hidden />
          {isPublic ? words.unpublish : words.publish}
        </button>
      )}
      {note.can?.update === true && (
        <button type="button" className="btn quiet" onClick={() => onChange({ pinned: !note.pinned })}>
          <Pin className="i s14" aria-hidden />
          {note.pinned ? words.unpin : words.pin}
        </button>
      )}
      {note.can?.remove === true && <Remove note={note} />}
    </div>
  )
}

function Remove({ note }: { note: NoteRead }) {
  const navigate = useNavigate()
  const remove = useRemoveNote(note)
  const restore = useRestoreNote(note.id)
  const refused = (error: Error) => toast({ title: error.message, bad: true })
  // Not with `mutate`: the page of the note is gone by then.
  const run = () => void restore.mutateAsync().then(() => toast({ title: words.restored(note.title) }), refused)
  const act = () =>
    remove.mutate(undefined, {
      onSuccess: () => {
        toast({ title: words.removed(note.title), action: { label: words.undo, run } })
        void navigate({ to: '/notes' })
      },
      onError: refused,
    })
  return (
    <button type="button" className="btn quiet" disabled={remove.isPending} onClick={act}>
      <Trash2 className="i s14" aria-hidden />
      {words.remove}
    </button>
  )
}
