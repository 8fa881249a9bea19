/** One memory: what is remembered, about what, how important, until when, and what came instead. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { MemoryRead } from '../../../features/memory/schema.ts'
import { Markdown } from '../../components/markdown.tsx'
import { Avatar } from '../../components/party.tsx'
import { Prop } from '../../components/section.tsx'
import { SaveError } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago, dayAndTime } from '../../times.ts'
import { useAbouts } from '../memories/about.ts'
import { Importance, State } from '../memories/rows.tsx'
import { Acts } from './acts.tsx'
import { MemoryForm } from './form.tsx'
import { memoryQuery, useChange } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/memories/$id')

export function MemoryPage() {
  const { id } = route.useParams()
  const { data: memory } = useSuspenseQuery(memoryQuery(id))
  const [isEditing, setEditing] = useState(false)
  const change = useChange(memory)
  const title = memory.title ?? memory.content.slice(0, 80)
  const may = memory.can?.update === true
  const { error } = change
  useCrumbs({ label: words.memories, to: '/memories' }, { label: title })
  return (
    <section className="panel whole" aria-label={title}>
      <div className="body">
        <div className="txt">
          <header className="row">
            <h1 className="h1 grow">{title}</h1>
            <State memory={memory} />
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
          <Acts memory={memory} onChange={change.mutate} />
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
  const about = useAbouts(team.id).find(({ id }) => id === memory.scopeId)
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Prop name={words.scope}>
          <Link to="/memories" search={{ scope: memory.scope, scopeId: memory.scopeId }}>
            {about?.name ?? words.scopes[memory.scope]}
          </Link>
        </Prop>
        <Prop name={words.author}>
          <span className="row tight">
            <Avatar party={memory.author} />
            <span>{memory.author.name}</span>
          </span>
        </Prop>
        <Prop name={words.importance}>
          <Importance value={memory.importance} />
          <span className="num">{Math.round(memory.importance * 100)} %</span>
        </Prop>
        {memory.tags.length > 0 && <Prop name={words.tagNames}>{memory.tags.map((tag) => `#${tag}`).join(' ')}</Prop>}
        {memory.source && <Prop name={words.source}>{memory.source}</Prop>}
        <Prop name={words.expires}>{memory.expiresAt ? dayAndTime(memory.expiresAt) : words.never}</Prop>
        <Prop name={words.stored}>
          <When at={memory.createdAt} />
        </Prop>
        <Prop name={words.changed}>
          <When at={memory.updatedAt} />
        </Prop>
        <Other name={words.supersedes} id={memory.supersedes} label={words.earlier} />
        <Other name={words.supersededBy} id={memory.supersededById} label={words.newer} />
      </dl>
      {children}
    </aside>
  )
}

const Other = ({ name, id, label }: { name: string; id: string | null; label: string }) =>
  id && (
    <Prop name={name}>
      <Link className="a" to="/memories/$id" params={{ id }}>
        {label}
      </Link>
    </Prop>
  )
