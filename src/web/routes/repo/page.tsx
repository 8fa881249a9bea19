/** A repository as of its last sync: open pull requests, the last commit and branches. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { ExternalLink, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import type { RepositoryDetail } from '../../../features/repositories/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { Confirm } from '../../components/form/confirm.tsx'
import { Property, Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { dayAndTime } from '../../lib/times.ts'
import { repoQuery, useRemoveRepository, useSyncRepository } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/repos/$id')
const tones = { pending: 'flag', syncing: 'flag info', ready: 'flag good', error: 'flag bad' } as const

export function RepoPage() {
  const { id } = route.useParams()
  const { data: repo } = useSuspenseQuery(repoQuery(id))
  const sync = useSyncRepository(repo.id)
  const [isRemoving, setRemoving] = useState(false)
  const name = `${repo.owner}/${repo.name}`
  useCrumbs({ label: words.team, to: '/team' }, { label: name, record: repo.id })
  return (
    <section className="panel whole" aria-label={name}>
      <div className="body">
        <div className="txt">
          <header className="row wide wraps phead">
            <span className="row wraps grow">
              <h1 className="h1">{name}</h1>
              <span className={tones[repo.status]}>{words.status[repo.status]}</span>
            </span>
            <span className="row">
              {repo.syncedAt && (
                <Link className="btn small" to="/assistant" search={{ repositoryId: repo.id }}>
                  {words.ask}
                </Link>
              )}
              {repo.can?.sync === true && (
                <button type="button" className="btn small" disabled={sync.isPending} onClick={() => sync.mutate()}>
                  <RefreshCw className="i s14" aria-hidden />
                  {sync.isPending ? words.syncing : words.sync}
                </button>
              )}
            </span>
          </header>
          <Trouble repo={repo} error={sync.error} />
          <Pulls repo={repo} />
          <LastCommit repo={repo} />
          <Branches repo={repo} />
        </div>
        <Fields repo={repo} onRemove={() => setRemoving(true)} />
      </div>
      {isRemoving && <Removal repo={repo} onClose={() => setRemoving(false)} />}
    </section>
  )
}

/** Why the last sync failed, and what a sync needs. */
function Trouble({ repo, error }: { repo: RepositoryDetail; error: Error | null }) {
  const said = repo.status === 'error' ? repo.error : null
  return (
    <>
      {(error ?? said) && (
        <ProblemBox error={error ?? new Error(said ?? '')}>
          <Link className="btn small" to="/settings/integrations">
            {words.token}
          </Link>
        </ProblemBox>
      )}
      {!repo.syncedAt && <p>{words.pending}</p>}
      {repo.can?.sync === true && <p className="soft t12">{words.syncText}</p>}
    </>
  )
}

const Pulls = ({ repo: { pullRequests } }: { repo: RepositoryDetail }) => (
  <Section title={words.pulls} n={pullRequests.length || undefined}>
    {pullRequests.length === 0 && <p className="soft">{words.noPulls}</p>}
    <ul>
      {pullRequests.map(({ number, title, url, head, base, author }) => (
        <li key={number}>
          <a className="dep" href={url} rel="noreferrer">
            <span className="mono t12 soft">#{number}</span>
            <span className="cut grow">{title}</span>
            <span className="soft t12 cut hp">{words.into(head, base)}</span>
            {author && <span className="soft t12 cut">{words.by(author)}</span>}
          </a>
        </li>
      ))}
    </ul>
  </Section>
)

const LastCommit = ({ repo: { lastCommit } }: { repo: RepositoryDetail }) => (
  <Section title={words.commit}>
    {lastCommit ? (
      <>
        <p className="row">
          <span className="mono t12 soft">{lastCommit.sha.slice(0, 8)}</span>
          <span className="grow t13">{lastCommit.title}</span>
        </p>
        <p className="row tight soft t12">
          {lastCommit.author && <span>{words.by(lastCommit.author)}</span>}
          {lastCommit.at && <span>{dayAndTime(lastCommit.at)}</span>}
        </p>
      </>
    ) : (
      <p className="soft">{words.noCommit}</p>
    )}
  </Section>
)

const Branches = ({ repo: { branches, defaultBranch } }: { repo: RepositoryDetail }) => (
  <Section title={words.branches} n={branches.length || undefined}>
    {branches.length === 0 && <p className="soft">{words.noBranches}</p>}
    <ul>
      {branches.map((branch) => (
        <li key={branch} className="dep">
          <span className="mono t12 cut">{branch}</span>
          {branch === defaultBranch && <span className="flag">{words.default}</span>}
        </li>
      ))}
    </ul>
  </Section>
)

function Fields({ repo, onRemove }: { repo: RepositoryDetail; onRemove(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const project = (useQuery(projectsQuery(team.id)).data ?? []).find(({ id }) => id === repo.projectId)
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Property name={words.host}>
          <a className="link row tight" href={repo.url} rel="noreferrer">
            {words.hosts[repo.provider] ?? repo.provider}
            <ExternalLink className="i s12" aria-hidden />
          </a>
        </Property>
        {project && (
          <Property name={words.project}>
            <Link className="link" to="/projects/$slug" params={{ slug: project.slug }}>
              {project.name}
            </Link>
          </Property>
        )}
        {repo.defaultBranch && (
          <Property name={words.branch}>
            <span className="mono t12 cut">{repo.defaultBranch}</span>
          </Property>
        )}
        <Property name={words.visibility}>{repo.private ? words.private : words.public}</Property>
        {repo.language && <Property name={words.language}>{repo.language}</Property>}
        <Property name={words.synced}>{repo.syncedAt ? dayAndTime(repo.syncedAt) : words.never}</Property>
        {repo.topics.length > 0 && (
          <Property name={words.topics}>
            <span className="row tight wrap">
              {repo.topics.map((topic) => (
                <span key={topic} className="chip">
                  {topic}
                </span>
              ))}
            </span>
          </Property>
        )}
      </dl>
      {repo.can?.remove === true && (
        <div className="stack">
          <button type="button" className="btn danger" onClick={onRemove}>
            {words.remove}
          </button>
        </div>
      )}
    </aside>
  )
}

function Removal({ repo, onClose }: { repo: RepositoryDetail; onClose(): void }) {
  const navigate = useNavigate()
  const remove = useRemoveRepository(repo, () => navigate({ to: '/team' }))
  return (
    <Confirm
      title={words.removeTitle(`${repo.owner}/${repo.name}`)}
      verb={words.remove}
      cancel={words.cancel}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>{words.removeText}</p>
    </Confirm>
  )
}
