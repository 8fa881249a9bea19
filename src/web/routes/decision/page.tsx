/** A decision: what was chosen and why, what else was possible, how it turned out, and what people say about it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, Suspense, useState } from 'react'
import type { DecisionDetail } from '../../../features/decisions/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Avatar } from '../../components/avatar.tsx'
import { CommentList } from '../../components/comments.tsx'
import { Property, Section } from '../../components/section.tsx'
import { ProblemBox, SaveError } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { dayAndTime } from '../../lib/times.ts'
import { NewComment } from '../../writing/comment-form.tsx'
import { useFileStore } from '../../writing/file-stores.ts'
import { TextForm } from '../../writing/text-form.tsx'
import { statusFlags, statusNames } from '../decisions/words.ts'
import { decisionQuery, useChangeDecision, useCommentDecision } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/decisions/$id')
const dialogs = () => import('./dialogs.tsx')
const LogDialog = lazy(async () => ({ default: (await dialogs()).LogDialog }))
const EditDialog = lazy(async () => ({ default: (await dialogs()).EditDialog }))

export function DecisionPage() {
  const { id } = route.useParams()
  const { data: decision } = useSuspenseQuery(decisionQuery(id))
  return <Body key={decision.id} decision={decision} />
}

function Body({ decision }: { decision: DecisionDetail }) {
  const change = useChangeDecision(decision)
  const navigate = useNavigate()
  const [shown, setShown] = useState<'edit' | 'supersede'>()
  const { can } = decision
  useCrumbs({ label: words.decisions, to: '/decisions' }, { label: decision.title, record: decision.id })
  return (
    <section className="panel whole" aria-label={decision.title}>
      <div className="body">
        <div className="txt">
          <h1 className="h1">{decision.title}</h1>
          {change.error && shown === undefined && <SaveError error={change.error} conflict={words.metOther} />}
          <Markdown text={decision.decision} />
          <Text title={words.context} text={decision.context} />
          <Text title={words.rationale} text={decision.rationale} />
          <Alternatives decision={decision} />
          <Outcome decision={decision} onSave={(outcome) => change.mutate({ outcome })} />
          <Chain decision={decision} />
          <Discussion decision={decision} />
        </div>
        <Fields decision={decision}>
          {can?.update === true && <Verdicts decision={decision} onChange={(status) => change.mutate({ status })} />}
          {can?.update === true && (
            <button type="button" className="btn" onClick={() => setShown('edit')}>
              {words.edit}
            </button>
          )}
          {can?.supersede === true && (
            <button type="button" className="btn" onClick={() => setShown('supersede')}>
              {words.supersede}
            </button>
          )}
        </Fields>
      </div>
      <Suspense>
        {shown === 'edit' && <EditDialog decision={decision} change={change} onClose={() => setShown(undefined)} />}
        {shown === 'supersede' && (
          <LogDialog
            supersedes={decision}
            onClose={() => setShown(undefined)}
            onLogged={(id) => void navigate({ to: '/decisions/$id', params: { id } })}
          />
        )}
      </Suspense>
    </section>
  )
}

const Text = ({ title, text }: { title: string; text: string | null }) =>
  text && (
    <Section title={title}>
      <Markdown text={text} />
    </Section>
  )

function Alternatives({ decision: { alternatives } }: { decision: DecisionDetail }) {
  if (alternatives.length === 0) return null
  return (
    <Section title={words.alternatives} n={alternatives.length}>
      <ul className="sheet alts">
        {alternatives.map(({ option, pros, cons }) => (
          <li key={option}>
            <b className="b5">{option}</b>
            {pros && (
              <p>
                <span className="good b5">{words.pros}</span> {pros}
              </p>
            )}
            {cons && (
              <p>
                <span className="bad b5">{words.cons}</span> {cons}
              </p>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Outcome({ decision, onSave }: { decision: DecisionDetail; onSave(outcome: string | null): void }) {
  const [editing, setEditing] = useState(false)
  const may = decision.can?.update === true
  if (!decision.outcome && !may) return null
  const edit = may && !editing && (
    <button type="button" className="btn small quiet" onClick={() => setEditing(true)}>
      {decision.outcome ? words.changeOutcome : words.setOutcome}
    </button>
  )
  const text = decision.outcome ? <Markdown text={decision.outcome} /> : <p className="soft">{words.noOutcome}</p>
  return (
    <Section title={words.outcome} end={edit}>
      {editing ? (
        <TextForm
          label={words.outcome}
          value={decision.outcome ?? ''}
          rows={4}
          maxLength={20_000}
          onSave={(draft) => onSave(draft.trim() ? draft : null)}
          onClose={() => setEditing(false)}
        />
      ) : (
        text
      )}
    </Section>
  )
}

/** The decision that it replaces, and the one that replaced it. */
function Chain({ decision }: { decision: DecisionDetail }) {
  const { supersedes, supersededById } = decision
  const earlier = useQuery({ ...decisionQuery(supersedes ?? ''), enabled: supersedes !== null }).data
  const later = useQuery({ ...decisionQuery(supersededById ?? ''), enabled: supersededById !== null }).data
  if (!earlier && !later) return null
  const line = (label: string, one: DecisionDetail | undefined) =>
    one && (
      <li>
        <Link className="dep" to="/decisions/$id" params={{ id: one.id }}>
          <span className="flag">{label}</span>
          <span className="cut grow">{one.title}</span>
          <span className={statusFlags[one.status]}>{statusNames[one.status]}</span>
        </Link>
      </li>
    )
  return (
    <Section title={words.chain}>
      <ul>
        {line(words.supersededBy, later)}
        {line(words.supersedes, earlier)}
      </ul>
    </Section>
  )
}

function Discussion({ decision: { id, discussion, can } }: { decision: DecisionDetail }) {
  const comment = useCommentDecision(id)
  const store = useFileStore({ kind: 'decision', id })
  const [key, setKey] = useState(newIdempotencyKey)
  const may = can?.comment === true
  if (discussion.length === 0 && !may) return null
  const send = (body: string, done: () => void) =>
    comment.mutate(
      { body, key },
      {
        onSuccess: () => {
          done()
          setKey(newIdempotencyKey())
        },
      },
    )
  return (
    <Section title={words.discussion} n={discussion.length || undefined}>
      <div className="stack s4">
        <CommentList remarks={discussion} />
        {may && (
          <NewComment
            about={`decision ${id}`}
            label={words.write}
            placeholder={words.writeHint}
            submit={words.comment}
            busy={comment.isPending}
            store={store}
            onSend={send}
          >
            {comment.error && <ProblemBox error={comment.error} />}
          </NewComment>
        )}
      </div>
    </Section>
  )
}

type Given = 'accepted' | 'rejected' | 'proposed'

/** A proposal is accepted or rejected; what was rejected can be proposed again. */
function Verdicts({ decision: { status }, onChange }: { decision: DecisionDetail; onChange(status: Given): void }) {
  if (status === 'superseded') return null
  return (
    <>
      {status === 'proposed' && (
        <button type="button" className="btn main" onClick={() => onChange('accepted')}>
          {words.accept}
        </button>
      )}
      {status === 'proposed' && (
        <button type="button" className="btn" onClick={() => onChange('rejected')}>
          {words.reject}
        </button>
      )}
      {status === 'rejected' && (
        <button type="button" className="btn" onClick={() => onChange('proposed')}>
          {words.propose}
        </button>
      )}
    </>
  )
}

function Fields({ decision, children }: { decision: DecisionDetail; children: ReactNode }) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const project = projects.find(({ id }) => id === decision.projectId)
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.status}>
          <span className={statusFlags[decision.status]}>{statusNames[decision.status]}</span>
        </Property>
        <Property name={words.project}>
          {project ? (
            <Link className="cut" to="/projects/$slug" params={{ slug: project.slug }}>
              {project.name}
            </Link>
          ) : (
            decision.projectId === null && words.wholeTeam
          )}
        </Property>
        <Property name={words.changed}>
          <span className="stack s1">
            <span className="row tight">
              <Avatar party={decision.author} />
              <span className="cut">{decision.author.name}</span>
            </span>
            <span className="soft t12 hp">{dayAndTime(decision.updatedAt)}</span>
          </span>
        </Property>
        {decision.tags.length > 0 && (
          <Property name={words.tags}>
            <span className="row tight wrap">
              {decision.tags.map((tag) => (
                <span key={tag} className="chip">
                  {tag}
                </span>
              ))}
            </span>
          </Property>
        )}
        {decision.links.length > 0 && (
          <Property name={words.links}>
            <span className="stack s1">
              {decision.links.map(({ id, kind, path, title, type }) => (
                <Link key={`${id} ${kind}`} className="link cut" to={path} title={`${type} · ${kind}`}>
                  {title}
                </Link>
              ))}
            </span>
          </Property>
        )}
      </dl>
      <div className="stack">{children}</div>
    </aside>
  )
}
