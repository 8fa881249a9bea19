/** The form of a page or a post. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Page, Post } from '../../../features/site/content-schema.ts'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { splitList } from '../../components/form/form.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { Editor } from '../../components/text/editor.tsx'
import type { FileStore } from '../../components/text/files.tsx'
import { useAdminChange } from '../admin/queries.ts'
import { type Cover, CoverField, sendPicture } from './picture.tsx'
import { categoriesQuery, type SiteTextKind, saveText, textQuery } from './queries.ts'
import { words } from './words.ts'

const MOST = 256 << 10
type Text = Page | Post

interface Props {
  kind: SiteTextKind
  id?: string
  onEnd(): void
}

/** The form begins with what is stored, so it waits for it. */
export function SiteTextForm({ kind, id, onEnd }: Props) {
  const { data, error } = useQuery({ ...textQuery(kind, id ?? ''), enabled: id !== undefined })
  if (id === undefined) return <Fields kind={kind} onEnd={onEnd} />
  if (!data) return <LoadStatus of={{ data, error }} />
  return <Fields key={data.version} kind={kind} saved={data} onEnd={onEnd} />
}

const pictureStore: FileStore = {
  upload: async (file) => ({ ...(await sendPicture(file)), name: file.name, size: file.size }),
  // A picture of the site stays.
  remove: async () => undefined,
}

/** What the field for a time takes: no zone, minutes. */
const local = (at: string | null | undefined): string => {
  if (!at) return ''
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function Fields({ kind, saved, onEnd }: { kind: SiteTextKind; saved?: Text; onEnd(): void }) {
  const [content, setContent] = useState(saved?.content ?? '')
  const [cover, setCover] = useState<Cover>({ coverId: saved?.coverId ?? null, coverAlt: saved?.coverAlt ?? null })
  const save = useAdminChange(saveText)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const { submitter } = event.nativeEvent as SubmitEvent
    const form = new FormData(event.currentTarget)
    const status = (submitter as HTMLButtonElement | null)?.value
    const fields = { ...fieldsOf(kind, form), ...cover, content, ...(status && { status: status as Text['status'] }) }
    save.mutate({ kind, saved, fields }, { onSuccess: onEnd })
  }
  const isPublished = saved?.status === 'published'
  return (
    <form className="stack s4" onSubmit={send}>
      <h2 className="h2">{saved ? words.editOf(saved.title) : words.newOf[kind]}</h2>
      <Names saved={saved} />
      {kind === 'posts' ? <OfPost saved={saved as Post | undefined} /> : <OfPage saved={saved as Page | undefined} />}
      <CoverField {...cover} onChange={setCover} />
      <Editor
        label={words.content}
        value={content}
        onChange={setContent}
        maxLength={MOST}
        rows={18}
        store={pictureStore}
      />
      {save.error && <ProblemBox error={save.error} />}
      <span className="row wraps">
        <button type="submit" className="btn main" disabled={save.isPending}>
          {words.save}
        </button>
        <button type="submit" className="btn" value={isPublished ? 'draft' : 'published'} disabled={save.isPending}>
          {isPublished ? words.toDraft : words.publish}
        </button>
        <button type="button" className="btn quiet" onClick={onEnd}>
          {words.cancel}
        </button>
      </span>
    </form>
  )
}

function fieldsOf(kind: SiteTextKind, form: FormData) {
  const text = (name: string): string => String(form.get(name) ?? '').trim()
  const from = text('publishedAt')
  const common = {
    title: text('title'),
    ...(text('slug') && { slug: text('slug') }),
    description: text('description') || null,
    publishedAt: from ? new Date(from).toISOString() : null,
  }
  if (kind === 'pages') return { ...common, nav: form.has('nav'), position: Number(text('position')) || 0 }
  return {
    ...common,
    excerpt: text('excerpt') || null,
    categoryId: text('categoryId') || null,
    tags: splitList(text('tags')),
  }
}

const Names = ({ saved }: { saved?: Text }) => (
  <>
    <Field label={words.title} name="title" required maxLength={200} defaultValue={saved?.title} />
    <Field
      label={words.slug}
      name="slug"
      maxLength={80}
      pattern="[a-z0-9]+(-[a-z0-9]+)*"
      title={words.slugHint}
      defaultValue={saved?.slug}
    />
    <Field label={words.description} name="description" maxLength={300} defaultValue={saved?.description ?? ''} />
    <Field
      label={words.from}
      name="publishedAt"
      type="datetime-local"
      title={words.fromHint}
      defaultValue={local(saved?.publishedAt)}
    />
  </>
)

const OfPage = ({ saved }: { saved?: Page }) => (
  <>
    <label className="row t13">
      <input type="checkbox" name="nav" defaultChecked={saved?.nav} />
      <span>{words.nav}</span>
    </label>
    <Field
      label={words.position}
      name="position"
      type="number"
      min={0}
      max={10_000}
      defaultValue={saved?.position ?? 0}
    />
  </>
)

function OfPost({ saved }: { saved?: Post }) {
  const { data } = useQuery(categoriesQuery)
  return (
    <>
      <TextArea label={words.excerpt} name="excerpt" rows={2} maxLength={500} defaultValue={saved?.excerpt ?? ''} />
      <Select
        label={words.category}
        key={data ? 'known' : 'waiting'}
        name="categoryId"
        defaultValue={saved?.categoryId ?? ''}
        none={words.noCategory}
        options={data?.items ?? []}
      />
      <Field label={words.tags} name="tags" defaultValue={saved?.tags.join(', ')} />
    </>
  )
}
