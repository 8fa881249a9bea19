/** What all pages of the administration share: their heading, their tabs, and tables that load more. */
import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { NotFound, RetryButton } from '../../frame/errors.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { isProblem } from '../../problem.ts'
import { words } from './words.ts'

const places = [
  ['/admin', 'state'],
  ['/admin/users', 'users'],
  ['/admin/teams', 'teams'],
  ['/admin/outbox', 'outbox'],
  ['/admin/audit', 'audit'],
  ['/admin/issues', 'issues'],
  ['/admin/announcements', 'announcements'],
  ['/admin/programs', 'programs'],
  ['/admin/settings', 'settings'],
  ['/admin/backups', 'backups'],
  ['/admin/site', 'site'],
  ['/admin/community', 'community'],
  ['/admin/contact', 'contact'],
  ['/admin/sponsors', 'sponsors'],
  ['/admin/marketplace', 'marketplace'],
  ['/admin/tracker', 'tracker'],
] as const
type AdminSection = (typeof places)[number][1]

interface FrameProps {
  at: AdminSection
  /** Default: the name of the section. */
  title?: string
  children: ReactNode
}

/** On a phone the tabs are one line, which may hide the one of this page. */
const intoView = (tab: HTMLElement | null) => tab?.scrollIntoView({ block: 'nearest', inline: 'center' })

/** For all other users these pages do not exist. */
export function AdminFrame({ at, title, children }: FrameProps) {
  const { me } = useRouteContext({ from: '/inside' })
  if (me.role !== 'admin') return <NotFound />
  return (
    <div className="scroll">
      <div className="page wide stack s5">
        <header className="stack">
          <h1 className="h1">{title ?? `${words.title}: ${words.sections[at]}`}</h1>
          <nav className="tabs" aria-label={words.title}>
            {places.map(([to, name]) => (
              <Link
                key={to}
                to={to}
                activeOptions={{ exact: true }}
                activeProps={{}}
                aria-current={name === at ? 'page' : undefined}
                ref={name === at ? intoView : undefined}
              >
                {words.sections[name]}
              </Link>
            ))}
          </nav>
        </header>
        {children}
      </div>
    </div>
  )
}

/** One user or team: what is known of it, or why it cannot be shown. */
export function AdminRecord<T>({ at, query, children }: SingleProps<T>) {
  if (isProblem(query.error) && query.error.status === 404) return <NotFound />
  if (query.data) return children(query.data)
  return <AdminFrame at={at}>{query.error ? <LoadError error={query.error} /> : <Waiting />}</AdminFrame>
}

interface SingleProps<T> {
  at: AdminSection
  query: UseQueryResult<T>
  children(found: T): ReactNode
}

export const FactList = ({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className="sheet admgrid">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt className="t12 soft">{name}</dt>
        <dd className="b5 wrapany">{value}</dd>
      </div>
    ))}
  </dl>
)

interface Column<T> {
  title: string
  of(item: T): ReactNode
  /** Not on a phone. */
  wide?: boolean
  /** What can be done: at the end of the row, below a title that only screen readers say. */
  acts?: boolean
}

export function DataTable<T extends { id: string }>({ items, columns }: { items: readonly T[]; columns: Column<T>[] }) {
  if (items.length === 0) return <p className="soft">{words.none}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section className="sheet tbl roll" tabIndex={0} aria-label={columns[0]?.title}>
      <table>
        <thead>
          <tr className="t12 soft">
            {columns.map(({ title, wide, acts }) => (
              <th key={title} className={wide ? 'hp' : ''}>
                {acts ? <span className="hide">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.id}>
              {columns.map(({ title, wide, acts, of }) => (
                <td key={title} className={`${wide ? 'hp' : 'wrapany'} ${acts ? 'num' : ''}`}>
                  {of(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface ListProps<T> {
  list: UseInfiniteQueryResult<{ pages: { items: T[] }[] }>
  columns: Column<T>[]
}

/** A table over the pages of a list. */
export function PagedTable<T extends { id: string }>({ list, columns }: ListProps<T>) {
  if (list.error && !list.data) return <LoadError error={list.error} />
  if (!list.data) return <Waiting />
  return (
    <>
      <DataTable items={list.data.pages.flatMap(({ items }) => items)} columns={columns} />
      {list.hasNextPage && (
        <p>
          <button type="button" className="btn" disabled={list.isFetching} onClick={() => void list.fetchNextPage()}>
            {words.more}
          </button>
        </p>
      )}
    </>
  )
}

const LoadError = ({ error }: { error: Error }) => (
  <ProblemBox error={error}>
    <RetryButton />
  </ProblemBox>
)

/** A field that filters once it is sent. */
export const SearchForm = ({ label, value, onFind }: { label: string; value: string; onFind(text: string): void }) => (
  <form
    className="row inviteform"
    role="search"
    aria-label={label}
    onSubmit={(event) => {
      event.preventDefault()
      onFind(String(new FormData(event.currentTarget).get('q')).trim())
    }}
  >
    <Field label={label} grow name="q" type="search" defaultValue={value} maxLength={100} />
    <button type="submit" className="btn">
      {words.find}
    </button>
  </form>
)

/** Who did it, and when. */
export const ActorCell = ({ entry: { actor, at } }: { entry: { actor: { name: string }; at: string } }) => (
  <span className="stack who-t">
    <span>{actor.name}</span>
    <span className="t12 soft">{dayAndTime(at)}</span>
  </span>
)

/** An entry of the audit log: its description, and the type that the filter finds. */
export function EventCell({ entry: { type, description } }: { entry: { type: string; description: string } }) {
  return (
    <span className="stack who-t">
      {description !== type && <span>{description.split(';')[0]}</span>}
      <span className="t12 soft mono">
        <Breakable text={type} />
      </span>
    </span>
  )
}

/** A long name that may be broken after its dots. */
const Breakable = ({ text }: { text: string }) =>
  text.split(/(?<=\.)/).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ))
