/** A question, or an answer with its sources and proposals. An answer is text: nothing in it becomes markup. */
import { Link, useRouteContext } from '@tanstack/react-router'
import { FileCode2, Sparkles } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Message, Proposal, Source } from '../../../features/assistant/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { useRecordAddress } from '../../record-address.ts'
import { kindNames } from '../../words.ts'
import { ProposalCard } from './proposal.tsx'
import { words } from './words.ts'

interface Said {
  by: Message['role']
  text: string
  at?: string
  status?: Message['status']
  children?: ReactNode
}

function Turn({ by, text, at, status, children }: Said) {
  const { me } = useRouteContext({ from: '/inside' })
  return (
    <li className="msg">
      {by === 'user' ? (
        <Avatar party={{ type: 'user', id: me.id, name: me.name }} size="m" />
      ) : (
        <span className="av m agent">
          <Sparkles className="i s14" aria-hidden />
        </span>
      )}
      <span className="who">
        <b>{by === 'user' ? words.you : words.assistant}</b>
        {at && (
          <time className="soft t12" dateTime={at} title={dayAndTime(at)}>
            {ago(at)}
          </time>
        )}
        {status && words.status[status] && (
          <span className={`flag ${status === 'failed' ? 'bad' : 'info'}`}>{words.status[status]}</span>
        )}
      </span>
      <div className="stack">
        {text !== '' && <p className="answer">{text}</p>}
        {children}
      </div>
    </li>
  )
}

interface MessageProps {
  message: Message
  projectId: string | null
  /** Whether the reader may create what is proposed. */
  mayAccept: boolean
}

export function MessageTurn({ message, projectId, mayAccept }: MessageProps) {
  const { role, content, createdAt, status, sources, proposals, error, citations } = message
  const cited = citations.length > 0 ? sources.filter(({ number }) => citations.includes(number)) : sources
  return (
    <Turn by={role} text={content} at={createdAt} status={status}>
      {error && (
        <p className="soft" role="status">
          {words.failed[error]}
        </p>
      )}
      {proposals.map((proposal) => (
        <ProposalCard
          key={proposal.number}
          proposal={proposal}
          sessionId={message.sessionId}
          messageId={message.id}
          projectId={projectId}
          mayAccept={mayAccept}
        />
      ))}
      <Sources sources={cited} />
    </Turn>
  )
}

export const QuestionTurn = ({ text }: { text: string }) => <Turn by="user" text={text} />

interface WritingProps {
  text: string
  sources: readonly Source[]
  proposals: readonly Proposal[]
}

/** An answer that is being written. */
export const WritingTurn = ({ text, sources, proposals }: WritingProps) => (
  <Turn by="assistant" text={text}>
    {proposals.map(({ number, kind, draft }) => (
      <p key={number} className="soft">
        {kind === 'tasks' && 'tasks' in draft
          ? words.proposal.tasks(draft.tasks.length)
          : words.proposal[kind as 'note']}
      </p>
    ))}
    <p className="soft t12" role="status">
      {words.writing}
    </p>
    <Sources sources={sources} />
  </Turn>
)

const Sources = ({ sources }: { sources: readonly Source[] }) =>
  sources.length > 0 && (
    <ul className="stack s1 t12" aria-label={words.sources}>
      {sources.map((source) => (
        <li key={source.number} className="row">
          <span className="soft mono">[{source.number}]</span>
          {source.kind === 'file' ? (
            <FileSource source={source} />
          ) : (
            <RecordSource source={source} kind={source.kind} />
          )}
        </li>
      ))}
    </ul>
  )

function RecordSource({ source, kind }: { source: Source; kind: Exclude<Source['kind'], 'file'> }) {
  const { to, search: query } = useRecordAddress()(source)
  return (
    <>
      <Link className="link cut" to={to} search={query}>
        {source.title}
      </Link>
      <span className="soft">{kindNames[kind].one}</span>
    </>
  )
}

function FileSource({ source: { title, url, lines } }: { source: Source }) {
  const name = (
    <>
      <FileCode2 className="i" aria-hidden /> {title} {lines && <span className="soft">{words.lines(lines)}</span>}
    </>
  )
  return url ? (
    <a className="link cut" href={url} target="_blank" rel="noreferrer noopener">
      {name}
    </a>
  ) : (
    <span className="cut">{name}</span>
  )
}
