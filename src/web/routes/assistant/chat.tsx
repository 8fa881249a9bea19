/** One chat: its messages, the answer that is being written, and a field for the next question. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import type { AiSession, AiSessionRead } from '../../../features/assistant/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { CommentForm } from '../../components/comments.tsx'
import { InlineField } from '../../components/form/inline-edit.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { MessageTurn, QuestionTurn, WritingTurn } from './message.tsx'
import { askQuestion, dismissAnswer, type PendingAnswer, usePendingAnswer } from './pending-answers.ts'
import { chatQuery, messagesQuery, repositoryQuery, useRemoveChat, useRenameChat } from './queries.ts'
import { AssistantStatus } from './status.tsx'
import { words } from './words.ts'

const Confirm = lazy(async () => ({ default: (await import('../../components/form/confirm.tsx')).Confirm }))
const LONGEST = 16_000

export function Chat({ id }: { id: string }) {
  const chat = useQuery(chatQuery(id))
  const messages = useQuery(messagesQuery(id))
  const writing = usePendingAnswer(id)
  const error = chat.error ?? messages.error
  useCrumbs({ label: words.title, to: '/assistant' }, { label: chat.data?.title ?? words.untitled })
  if (error && !chat.data)
    return (
      <section className="inp">
        <div className="inbody stack">
          <ProblemBox error={error} />
          <Link className="link" to="/assistant">
            {words.back}
          </Link>
        </div>
      </section>
    )
  if (!chat.data)
    return (
      <section className="inp">
        <Waiting />
      </section>
    )
  return (
    <section className="inp" aria-label={chat.data.title ?? words.untitled}>
      <Head chat={chat.data} />
      <Turns chat={chat.data} messages={messages.data?.items ?? []} writing={writing} />
      <div className="inact">
        <div className="grow stack s1">
          <Ask id={id} writing={writing} />
          <AssistantStatus />
        </div>
      </div>
    </section>
  )
}

interface TurnsProps {
  chat: AiSessionRead
  messages: readonly Parameters<typeof MessageTurn>[0]['message'][]
  writing: PendingAnswer | undefined
}

function Turns({ chat, messages, writing }: TurnsProps) {
  const end = useRef<HTMLDivElement>(null)
  const length = messages.length + (writing?.text.length ?? 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what grew is why the end has moved
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' })
  }, [length])
  const last = messages.at(-1)
  // The question may already be stored while its answer is written.
  const isStored = last?.role === 'user' && last.content === writing?.question
  return (
    <div className="inbody">
      <ul className="stack s4" aria-live="polite">
        {messages.map((message) => (
          <MessageTurn
            key={message.id}
            message={message}
            projectId={chat.projectId}
            mayAccept={chat.can.accept === true}
          />
        ))}
        {writing && !isStored && <QuestionTurn text={writing.question} />}
        {writing && !writing.error && <WritingTurn {...writing} />}
      </ul>
      {!writing && last?.role === 'user' && <p className="soft t12">{words.unanswered}</p>}
      {writing?.error && <ProblemBox error={writing.error} />}
      <div ref={end} />
    </div>
  )
}

function Ask({ id, writing }: { id: string; writing: PendingAnswer | undefined }) {
  const [text, setText] = useState('')
  if (writing && !writing.error)
    return (
      <p className="row">
        <span className="grow" />
        <button type="button" className="btn" onClick={writing.stop}>
          {words.stop}
        </button>
      </p>
    )
  const send = (question: string, done: () => void) => {
    done()
    dismissAnswer(id)
    void askQuestion(id, question)
  }
  return (
    <CommentForm
      label={words.ask}
      submit={words.send}
      maxLength={LONGEST}
      busy={false}
      text={text}
      onText={setText}
      onSend={send}
    />
  )
}

function Head({ chat }: { chat: AiSession }) {
  const [shown, show] = useState<'rename' | 'remove'>()
  const rename = useRenameChat(chat)
  return (
    <header className="row">
      {shown === 'rename' ? (
        <InlineField
          label={words.name}
          value={chat.title ?? ''}
          maxLength={200}
          onSave={rename.mutate}
          onDone={() => show(undefined)}
        />
      ) : (
        <>
          <span className="grow cut">
            <b className="b5 hp">{chat.title ?? words.untitled}</b> <Subject chat={chat} />
          </span>
          <button type="button" className="btn small" onClick={() => show('rename')}>
            {words.rename}
          </button>
          <button type="button" className="btn small" onClick={() => show('remove')}>
            {words.remove}
          </button>
        </>
      )}
      {rename.error && <span role="alert">{rename.error.message}</span>}
      {shown === 'remove' && <Remove chat={chat} onClose={() => show(undefined)} />}
    </header>
  )
}

/** What the chat is about, if not the whole team. */
function Subject({ chat: { projectId, repositoryId } }: { chat: AiSession }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data: projects = [] } = useQuery({ ...projectsQuery(team.id), enabled: projectId !== null })
  const { data: repository } = useQuery({ ...repositoryQuery(repositoryId ?? ''), enabled: repositoryId !== null })
  const project = projects.find(({ id }) => id === projectId)?.name
  const name = repository
    ? words.about.repository(`${repository.owner}/${repository.name}`)
    : project && words.about.project(project)
  return name && <span className="soft t12">{name}</span>
}

function Remove({ chat, onClose }: { chat: AiSession; onClose(): void }) {
  const navigate = useNavigate()
  const { mutate, isPending, error } = useRemoveChat(chat)
  return (
    <Suspense>
      <Confirm
        title={words.removeTitle}
        verb={words.remove}
        cancel={words.cancel}
        busy={isPending}
        error={error}
        onClose={onClose}
        onConfirm={() => mutate(undefined, { onSuccess: () => void navigate({ to: '/assistant' }) })}
      >
        <p>{words.removeText}</p>
      </Confirm>
    </Suspense>
  )
}
