/** What is shown beside a spec: its fields and its versions. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { SpecDetail, SpecVersion } from '../../../features/specs/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { Property } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { statusFlags, statusNames } from '../specs/words.ts'
import { versionsQuery } from './queries.ts'
import { words } from './words.ts'

interface FieldsProps {
  spec: SpecDetail
  onStatus(status: SpecDetail['status']): void
  children: ReactNode
}

export function SpecFields({ spec, onStatus, children }: FieldsProps) {
  const { team } = useRouteContext({ from: '/inside' })
  const project = useQuery(projectsQuery(team.id)).data?.find(({ id }) => id === spec.projectId)
  const flag = <span className={statusFlags[spec.status]}>{statusNames[spec.status]}</span>
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.status}>
          {spec.can.update === true ? (
            <LazyMenu
              trigger={
                <button type="button" className="row tight">
                  <span className="hide">{words.status}: </span>
                  {flag}
                </button>
              }
              entries={Object.entries(statusNames).map(([value, label]) => ({
                value,
                label,
                chosen: value === spec.status,
              }))}
              onChoose={(status) => onStatus(status as SpecDetail['status'])}
            />
          ) : (
            flag
          )}
        </Property>
        {project && (
          <Property name={words.project}>
            <Link className="cut" to="/projects/$slug" params={{ slug: project.slug }}>
              {project.name}
            </Link>
          </Property>
        )}
        {spec.links.length > 0 && (
          <Property name={words.links}>
            <span className="stack s1">
              {spec.links.map(({ id, kind, path, title, type }) => (
                <Link key={`${id} ${kind}`} className="link cut" to={path} title={`${type} · ${kind}`}>
                  {title}
                </Link>
              ))}
            </span>
          </Property>
        )}
      </dl>
      {spec.can.reopen === true && (
        <div className="stack">
          <button type="button" className="btn" onClick={() => onStatus('draft')}>
            {words.reopen}
          </button>
        </div>
      )}
      {children}
    </aside>
  )
}

export function SpecVersions({ spec }: { spec: SpecDetail }) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(versionsQuery(spec.id))
  // On a phone the text comes first.
  const [isOpen, setOpen] = useState(() => window.innerWidth > 767)
  const versions = data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <details className="sect vers" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2 className="h2 row tight">
          {words.versions}
          <span className="soft t12">{spec.version}</span>
        </h2>
      </summary>
      {error && <ProblemBox error={error} />}
      <ol>
        {versions.map((version) => (
          <Version key={version.version} version={version} current={version.version === spec.version} />
        ))}
      </ol>
      {hasNextPage && (
        <button
          type="button"
          className="btn small quiet"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          {words.more}
        </button>
      )}
    </details>
  )
}

function Version({ version, current }: { version: SpecVersion; current: boolean }) {
  const n = version.version
  return (
    <li>
      <Avatar party={version.author} />
      <span className="stack s1">
        <span className="row tight">
          <Link
            className="b5"
            from="/specs/$id"
            to="."
            search={({ team }) => (current ? { team } : { team, to: n })}
            title={current ? words.current : undefined}
          >
            {words.version(n)}
          </Link>
          <time className="soft t12" dateTime={version.createdAt} title={dayAndTime(version.createdAt)}>
            {ago(version.createdAt)}
          </time>
        </span>
        {version.message && <span className="t12 soft">{version.message}</span>}
        {n > 1 && (
          <Link
            className="link t12"
            from="/specs/$id"
            to="."
            search={({ team }) => ({ team, from: n - 1, to: n })}
            aria-label={words.comparing(n - 1, n)}
          >
            {words.whatChanged}
          </Link>
        )}
      </span>
    </li>
  )
}
