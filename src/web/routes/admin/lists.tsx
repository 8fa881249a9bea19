import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { CopyLine } from '../../components/copy-line.tsx'
import { MailAddress } from '../../components/mail-address.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { InstanceSettings } from '../site/instance-settings.tsx'
import { words as siteWords } from '../site/words.ts'
import { AdminFrame, DataTable, PagedTable, SearchForm } from './parts.tsx'
import {
  backupsQuery,
  configQuery,
  makeBackup,
  outboxQuery,
  resendMail,
  teamsQuery,
  useAdminChange,
} from './queries.ts'
import { words } from './words.ts'

export function TeamsPage() {
  const [search, setSearch] = useState('')
  const list = useInfiniteQuery(teamsQuery(search))
  const columns = words.teams.columns
  return (
    <AdminFrame at="teams">
      <SearchForm label={words.search} value={search} onFind={setSearch} />
      <PagedTable
        list={list}
        columns={[
          {
            title: columns.name,
            of: ({ id, name }) => (
              <Link className="b5 link" to="/admin/teams/$id" params={{ id }}>
                {name}
              </Link>
            ),
          },
          { title: columns.members, of: ({ members }) => members },
          { title: columns.kind, of: ({ personal }) => (personal ? words.teams.personal : words.teams.team) },
          { title: columns.since, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
        ]}
      />
    </AdminFrame>
  )
}

export function OutboxPage() {
  const list = useInfiniteQuery(outboxQuery)
  const again = useAdminChange(resendMail)
  const columns = words.outbox.columns
  const isKept = list.data?.pages.some(({ items }) => items.some(({ status }) => status === 'kept'))
  return (
    <AdminFrame at="outbox">
      {isKept && <p className="soft">{words.outbox.kept}</p>}
      {again.error && <ProblemBox error={again.error} />}
      <PagedTable
        list={list}
        columns={[
          {
            title: columns.subject,
            of: ({ subject, to, text, error }) => (
              <>
                <b className="b5">{subject}</b>
                <p className="t12 soft">
                  <MailAddress of={to} />
                </p>
                {error && <p className="t12 warn">{error}</p>}
                {text && (
                  <details>
                    <summary className="t12">{words.outbox.show}</summary>
                    <pre className="code">{text}</pre>
                  </details>
                )}
              </>
            ),
          },
          {
            title: columns.status,
            of: ({ status }) => <span className={status === 'failed' ? 'flag bad' : 'flag'}>{status}</span>,
          },
          { title: columns.at, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
          {
            title: columns.act,
            acts: true,
            of: ({ id, to, status }) =>
              status === 'failed' && (
                <button
                  type="button"
                  className="btn small"
                  aria-label={words.outbox.resendOf(to)}
                  disabled={again.isPending}
                  onClick={() => again.mutate(id)}
                >
                  {words.outbox.resend}
                </button>
              ),
          },
        ]}
      />
    </AdminFrame>
  )
}

export function SettingsPage() {
  const { data, error } = useQuery(configQuery)
  const columns = words.settings.columns
  return (
    <AdminFrame at="settings">
      <InstanceSettings />
      <h2 className="h2">{siteWords.settings.environment}</h2>
      {error && <ProblemBox error={error} />}
      {!data && !error && <Waiting />}
      {data && (
        <DataTable
          items={data.items.map((item) => ({ ...item, id: item.name }))}
          columns={[
            { title: columns.name, of: ({ name }) => <span className="mono nowrap">{name}</span> },
            {
              title: columns.value,
              of: ({ value }) => value ?? <span className="soft">{words.settings.unset}</span>,
            },
            { title: columns.from, of: ({ from }) => from, wide: true },
            { title: columns.about, of: ({ about }) => about, wide: true },
          ]}
        />
      )}
    </AdminFrame>
  )
}

export function BackupsPage() {
  const { data, error } = useQuery(backupsQuery)
  const make = useAdminChange(makeBackup)
  const columns = words.backups.columns
  const problem = error ?? make.error
  return (
    <AdminFrame at="backups">
      {problem && <ProblemBox error={problem} />}
      {!data && !error && <Waiting />}
      {data && !data.folder && (
        <div className="stack">
          <p className="soft">{words.backups.none}</p>
          <CopyLine label={words.backups.byHand} text={words.backups.command} />
        </div>
      )}
      {data?.folder && (
        <>
          <p className="row wraps">
            <span className="grow">{words.backups.plan(data.folder, data.everyHours, data.keep)}</span>
            <button
              type="button"
              className="btn"
              disabled={make.isPending}
              onClick={() =>
                make.mutate(undefined, { onSuccess: ({ name }) => toast({ title: words.backups.made(name) }) })
              }
            >
              {words.backups.make}
            </button>
          </p>
          <DataTable
            items={data.items.map((item) => ({ ...item, id: item.name }))}
            columns={[
              { title: columns.name, of: ({ name }) => <span className="mono">{name}</span> },
              { title: columns.at, of: ({ at }) => dayAndTime(at) },
              { title: columns.bytes, of: ({ bytes }) => words.bytes(bytes) },
            ]}
          />
        </>
      )}
    </AdminFrame>
  )
}
