/** Chats with the assistant: their list, and beside it one of them or the beginning of a new one. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useParams, useRouteContext, useSearch } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import { projectsQuery } from '../../account/session.ts'
import { CommentForm } from '../../components/comments.tsx'
import { EmptyState, LoadStatus, ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago } from '../../lib/times.ts'
import { Chat } from './chat.tsx'
import { askQuestion } from './pending-answers.ts'
import { chatsQuery, repositoryQuery, useStartChat } from './queries.ts'
import { AssistantStatus } from './status.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/assistant')
const LONGEST = 16_000

export function AssistantPage() {
  const { id } = useParams({ strict: false })
  const { new: fresh, projectId, repositoryId } = useSearch({ strict: false })
  useCrumbs({ label: words.title, ...(id && { to: '/assistant' }) })
  return (
    <div className={id || fresh || projectId || repositoryId ? 'inb open' : 'inb'}>
      <h1 className="hide">{words.title}</h1>
      <section className="inl" aria-label={words.list}>
        <Chats current={id} />
      </section>
      {id ? <Chat key={id} id={id} /> : <NewChat />}
    </div>
  )
}

function Chats({ current }: { current: string | undefined }) {
  const [find, setFind] = useState('')
  const { data, error } = useQuery(chatsQuery(find.trim()))
  return (
    <>
      <header className="viewbar">
        <b className="h2 grow">{words.title}</b>
        <Link className="btn small" to="/assistant" search={{ new: '1' }}>
          {words.fresh}
        </Link>
      </header>
      {(find !== '' || (data?.items.length ?? 0) > 8) && (
        <div className="viewbar">
          <input
            className="input grow"
            type="search"
            aria-label={words.find}
            placeholder={words.find}
            value={find}
            onChange={(event) => setFind(event.currentTarget.value)}
          />
        </div>
      )}
      <LoadStatus of={{ data, error }} />
      {data?.items.length === 0 && <p className="inend">{find ? words.noMatch : words.none}</p>}
      {data && data.items.length > 0 && (
        <ul>
          {data.items.map(({ id, title, updatedAt }) => (
            <li key={id}>
              <Link
                className="nt"
                to="/assistant/$id"
                params={{ id }}
                aria-current={id === current ? 'true' : undefined}
              >
                <span className="grow cut">{title ?? words.untitled}</span>
                <span className="soft t12 nowrap">{ago(updatedAt)}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** To the list, on a phone, where it is not beside the chat. */
const Back = () => (
  <Link className="ib back" to="/assistant" aria-label={words.back}>
    <ArrowLeft className="i" aria-hidden />
  </Link>
)

/** Starts a chat with its first question. */
function NewChat() {
  const { team } = useRouteContext({ from: '/inside' })
  const { projectId, repositoryId } = route.useSearch()
  const navigate = route.useNavigate()
  const { mutate, isPending, error } = useStartChat()
  const [text, setText] = useState('')
  const send = (question: string, done: () => void) =>
    mutate(
      { projectId, repositoryId },
      {
        onSuccess: ({ id }) => {
          done()
          void askQuestion(id, question)
          void navigate({ to: '/assistant/$id', params: { id } })
        },
      },
    )
  return (
    <section className="inp" aria-label={words.fresh}>
      <header className="row">
        <Back />
        <b className="b5">{words.fresh}</b>
      </header>
      <div className="inbody stack s4">
        <EmptyState title={words.start}>
          <p className="soft">{words.startText}</p>
          <code className="code">{words.command}</code>
        </EmptyState>
        <SubjectChoice team={team.id} />
        <CommentForm
          label={words.ask}
          submit={words.send}
          maxLength={LONGEST}
          busy={isPending}
          text={text}
          onText={setText}
          onSend={send}
        >
          {error && <ProblemBox error={error} />}
        </CommentForm>
        <AssistantStatus />
      </div>
    </section>
  )
}

/** What the answers come from: the team, one project, or the files of a repository. */
function SubjectChoice({ team }: { team: string }) {
  const { projectId = '', repositoryId } = route.useSearch()
  const navigate = route.useNavigate()
  const { data: projects = [] } = useQuery(projectsQuery(team))
  const { data: repository } = useQuery({ ...repositoryQuery(repositoryId ?? ''), enabled: repositoryId !== undefined })
  if (repositoryId) return repository && <p>{words.about.repository(`${repository.owner}/${repository.name}`)}</p>
  return (
    <label className="row wrap">
      <span className="soft">{words.project}</span>
      <select
        className="input"
        value={projectId}
        onChange={(event) => {
          const chosen = event.currentTarget.value || undefined
          void navigate({ search: (before) => ({ ...before, projectId: chosen }), replace: true })
        }}
      >
        <option value="">{words.allOfTeam}</option>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
