/** One memory: what is remembered, about what, how important, until when, and what came instead. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { MemoryRead } from '../../../features/memory/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { Property } from '../../components/section.tsx'
import { SaveError } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago, dayAndTime } from '../../lib/times.ts'
import { Importance, MemoryState } from '../memories/rows.tsx'
import { useMemorySubjects } from '../memories/subjects.ts'
import { MemoryActions } from './actions.tsx'
import { MemoryForm } from './form.tsx'
import { memoryQuery, useChangeMemory } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/memories/$id')

export function MemoryPage() {
  const { id } = route.useParams()
  const { data: memory } = useSuspenseQuery(memoryQuery(id))
  const [isEditing, setEditing] = useState(false)
  const change = useChangeMemory(memory)
  const title = memory.title ?? memory.content.slice(0, 80)
  const may = memory.can?.update === true
  const { error } = change
  useCrumbs({ label: words.memories, to: '/memories' }, { label: title, record: memory.id })
  return (
    <section className="panel whole" aria-label={title}>
      <div className="body">
        <div className="txt">
          <header className="row">
            <h1 className="h1 grow">{title}</h1>
            <MemoryState memory={memory} />
            {may && !isEditing && (
              <button type="button" className="btn small" onClick={() => setEditing(true)}>
                {words.edit}
              </button>
            )}
          </header>
          {error && <SaveError error={error} conflict={words.metOther} />}
          {isEditing ? (
            <MemoryForm
              memory={memory}
              submit={words.save}
              busy={change.isPending}
              onCancel={() => setEditing(false)}
              onSave={(fields) => change.mutate(fields, { onSuccess: () => setEditing(false) })}
            />
          ) : (
            <article className="prose">
              <Markdown text={memory.content} />
            </article>
          )}
        </div>
        <Side memory={memory}>
          <MemoryActions memory={memory} onChange={change.mutate} />
        </Side>
      </div>
    </section>
  )
}

const When = ({ at }: { at: string }) => (
  <time dateTime={at} title={dayAndTime(at)}>
    {ago(at)}
  </time>
)

function Side({ memory, children }: { memory: MemoryRead; children: ReactNode }) {
  const { team } = useRouteContext({ from: '/inside' })
  const about = useMemorySubjects(team.id).find(({ id }) => id === memory.scopeId)
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.scope}>
          <Link to="/memories" search={{ scope: memory.scope, scopeId: memory.scopeId }}>
            {about?.name ?? words.scopes[memory.scope]}
          </Link>
        </Property>
        <Property name={words.author}>
          <span className="row tight">
            <Avatar party={memory.author} />
            <span>{memory.author.name}</span>
          </span>
        </Property>
        <Property name={words.importance}>
          <Importance value={memory.importance} />
          <span className="num">{Math.round(memory.importance * 100)} %</span>
        </Property>
        {memory.tags.length > 0 && (
          <Property name={words.tagNames}>{memory.tags.map((tag) => `#${tag}`).join(' ')}</Property>
        )}
        {memory.source && <Property name={words.source}>{memory.source}</Property>}
        <Property name={words.expires}>{memory.expiresAt ? dayAndTime(memory.expiresAt) : words.never}</Property>
        <Property name={words.stored}>
          <When at={memory.createdAt} />
        </Property>
        <Property name={words.changed}>
          <When at={memory.updatedAt} />
        </Property>
        <Other name={words.supersedes} id={memory.supersedes} label={words.earlier} />
        <Other name={words.supersededBy} id={memory.supersededById} label={words.newer} />
      </dl>
      {children}
    </aside>
  )
}

const Other = ({ name, id, label }: { name: string; id: string | null; label: string }) =>
  id && (
    <Property name={name}>
      <Link className="a" to="/memories/$id" params={{ id }}>
        {label}
      </Link>
    </Property>
  )
