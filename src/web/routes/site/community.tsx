/** Where users write posts for the community, change their own, and report those of others. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useParams, useRouteContext } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { CommunityPost } from '../../../features/community/schema.ts'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { Editor } from '../../components/text/editor.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { communityPostQuery, deleteOwnPost, editPost, reportPost, writePost } from './queries.ts'
import { words } from './words.ts'

const MOST = 20_480
const w = words.write

function Frame({ title, about, children }: { title: string; about?: string; children: ReactNode }) {
  useCrumbs({ label: title })
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header>
          <h1 className="h1">{title}</h1>
          {about && <p className="soft">{about}</p>}
        </header>
        {children}
      </div>
    </div>
  )
}

interface FormProps {
  saved?: CommunityPost
  onDone(post: CommunityPost): void
}

function PostForm({ saved, onDone }: FormProps) {
  const [content, setContent] = useState(saved?.content ?? '')
  const save = useMutation({
    mutationFn: (title: string) =>
      saved ? editPost({ id: saved.id, version: saved.version, title, content }) : writePost({ title, content }),
    onSuccess: onDone,
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(String(new FormData(event.currentTarget).get('title')).trim())
  }
  return (
    <form className="stack s4" onSubmit={submit}>
      <Field label={words.title} name="title" required maxLength={200} defaultValue={saved?.title} />
      <Editor label={words.content} value={content} onChange={setContent} maxLength={MOST} rows={14} />
      {save.error && <ProblemBox error={save.error} />}
      <p>
        <button type="submit" className="btn main" disabled={save.isPending || content.trim() === ''}>
          {saved ? words.save : w.send}
        </button>
      </p>
    </form>
  )
}

/** A post that is visible is on the public site, which is not part of the dashboard. */
function useDone() {
  const [isHidden, setHidden] = useState(false)
  const done = ({ id, status }: CommunityPost) =>
    status === 'visible' ? location.assign(`/community/${id}`) : setHidden(true)
  return { isHidden, done }
}

export function NewPostPage() {
  const { isHidden, done } = useDone()
  return (
    <Frame title={w.new} about={w.intro}>
      {isHidden ? <p role="status">{w.hidden}</p> : <PostForm onDone={done} />}
    </Frame>
  )
}

export function EditPostPage() {
  const { id } = useParams({ from: '/inside/community/$id/edit' })
  const { me } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(communityPostQuery(id))
  if (!data) return <Frame title={w.edit}>{error ? <ProblemBox error={error} /> : <Waiting />}</Frame>
  return data.author.handle === me.handle ? <Own post={data} /> : <Others post={data} />
}

function Own({ post }: { post: CommunityPost }) {
  const { isHidden, done } = useDone()
  const remove = useMutation({ mutationFn: deleteOwnPost, onSuccess: () => location.assign('/community') })
  const [ask, asked] = useRemoval(remove, ({ id, title }: CommunityPost) => ({
    input: id,
    title: words.removeTitle(title),
    text: w.removeText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  return (
    <Frame title={w.edit}>
      {isHidden && <p role="status">{w.hidden}</p>}
      <PostForm saved={post} onDone={done} />
      <p>
        <button type="button" className="btn danger" onClick={() => ask(post)}>
          {words.remove}
        </button>
      </p>
      {asked}
    </Frame>
  )
}

function Others({ post }: { post: CommunityPost }) {
  const report = useMutation({ mutationFn: reportPost })
  return (
    <Frame title={w.report}>
      <article className="sheet pad stack">
        <header>
          <h2 className="h2">{post.title}</h2>
          <p className="t12 soft">{post.author.name}</p>
        </header>
        <Markdown text={post.content} />
      </article>
      {report.isSuccess ? (
        <p role="status">{w.reported}</p>
      ) : (
        <form
          className="stack s4"
          onSubmit={(event) => {
            event.preventDefault()
            report.mutate({ id: post.id, reason: String(new FormData(event.currentTarget).get('reason')).trim() })
          }}
        >
          <TextArea label={w.reason} name="reason" rows={3} required maxLength={500} />
          {report.error && <ProblemBox error={report.error} />}
          <p>
            <button type="submit" className="btn" disabled={report.isPending}>
              {w.sendReport}
            </button>
          </p>
        </form>
      )}
    </Frame>
  )
}
