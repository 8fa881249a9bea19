/** What all pages of the administration share: their heading, their navigation, and tables that load more. */
import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { AuditEntry } from '../../../features/admin/schema.ts'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { NotFound, RetryButton } from '../../frame/errors.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { isProblem } from '../../problem.ts'
import { words } from './words.ts'

/** The parts of the administration, each with its pages; the first page opens the part. */
const parts = [
  { name: 'overview', pages: ['state', 'audit'] },
  { name: 'people', pages: ['users', 'teams', 'programs'] },
  { name: 'messages', pages: ['issues', 'contact', 'announcements', 'outbox'] },
  { name: 'content', pages: ['site', 'community', 'marketplace', 'sponsors', 'tracker'] },
  { name: 'system', pages: ['settings', 'backups'] },
] as const
type AdminSection = (typeof parts)[number]['pages'][number]

const addressOf = (page: AdminSection) => (page === 'state' ? '/admin' : (`/admin/${page}` as const))

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
          <AdminNavigation at={at} />
        </header>
        {children}
      </div>
    </div>
  )
}

/** The five parts as tabs, and a switch between the pages of this part. */
function AdminNavigation({ at }: { at: AdminSection }) {
  const part = parts.find(({ pages }) => pages.some((page) => page === at)) ?? parts[0]
  return (
    <>
      <nav className="tabs" aria-label={words.title}>
        {parts.map(({ name, pages: [first] }) => (
          <AdminLink key={name} page={first} label={words.parts[name]} current={name === part.name && 'true'} />
        ))}
      </nav>
      <nav className="seg admseg" aria-label={words.parts[part.name]}>
        {part.pages.map((page) => (
          <AdminLink key={page} page={page} label={words.sections[page]} current={page === at && 'page'} />
        ))}
      </nav>
    </>
  )
}

interface LinkProps {
  page: AdminSection
  label: string
  current: 'page' | 'true' | false
}

const AdminLink = ({ page, label, current }: LinkProps) => (
  <Link
    to={addressOf(page)}
    activeOptions={{ exact: true }}
    activeProps={{}}
    aria-current={current || undefined}
    ref={current ? intoView : undefined}
  >
    {label}
  </Link>
)

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

interface AuditProps {
  entry: Pick<AuditEntry, 'type' | 'action' | 'sentence' | 'at' | 'ip' | 'requestId' | 'data'>
}

/** An entry of the audit log as a sentence, with the stored data below it. */
export function AuditCell({ entry: { sentence, at, ip, type, action, requestId, data } }: AuditProps) {
  const raw = { type, action, requestId, data }
  return (
    <span className="stack who-t">
      <span>{sentence}</span>
      <span className="t12 soft">{[dayAndTime(at), ip].filter(Boolean).join(' · ')}</span>
      <details>
        <summary className="t12">{words.audit.details}</summary>
        <pre className="code">{JSON.stringify(raw, null, 2)}</pre>
      </details>
    </span>
  )
}
