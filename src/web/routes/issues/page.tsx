/** What the reader has reported to those who run the server, and their answers. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense } from 'react'
import { EmptyState, LoadStatus } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { lazy } from '../../lib/lazy.ts'
import { day, dayAndTime } from '../../lib/times.ts'
import { issuesQuery } from './queries.ts'
import { words } from './words.ts'

const ReportDialog = lazy(async () => ({ default: (await import('./report.tsx')).ReportDialog }))

const route = getRouteApi('/inside/issues')
const tones = { open: 'info', in_review: 'accent', closed: 'good' }

export function IssuesPage() {
  const { data, error } = useQuery(issuesQuery)
  const isNew = route.useSearch().new === '1'
  const navigate = route.useNavigate()
  const show = (open: boolean) => void navigate({ search: (before) => ({ ...before, new: open ? '1' : undefined }) })
  return (
    <div className="scroll">
      <div className="page stack s4">
        <header className="row wide wrap">
          <h1 className="h1 grow">{words.title}</h1>
          <button type="button" className="btn main" onClick={() => show(true)}>
            {words.report}
          </button>
        </header>
        <LoadStatus of={{ data, error }} />
        {data?.items.length === 0 && (
          <EmptyState title={words.nothing}>
            <p className="soft">{words.nothingText}</p>
          </EmptyState>
        )}
        {data?.items.map((issue) => (
          <section key={issue.id} className="sheet pad stack" aria-label={issue.title}>
            <header className="row wrap">
              <h2 className="h2 grow">{issue.title}</h2>
              <span className={`flag ${tones[issue.status]}`}>{words.status[issue.status]}</span>
              <time className="t12 soft nowrap" dateTime={issue.createdAt} title={dayAndTime(issue.createdAt)}>
                {day(issue.createdAt)}
              </time>
            </header>
            <Markdown text={issue.description} />
            {issue.answer && (
              <div className="compose">
                <span className="t12 soft">{words.answer}</span>
                <Markdown text={issue.answer} />
              </div>
            )}
          </section>
        ))}
      </div>
      {isNew && (
        <Suspense>
          <ReportDialog onClose={() => show(false)} />
        </Suspense>
      )}
    </div>
  )
}
