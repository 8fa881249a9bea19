/** Onboarding: team, invites, agent, project. Each step can be skipped, and the page resumes at the first open step. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { teamsQuery } from '../../account/session.ts'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { InviteForm, InviteSentMessage } from '../team/invites.tsx'
import { teamMembersQuery, useInvite } from '../team/queries.ts'
import { CreateToken, type NewToken } from '../tokens/create.tsx'
import { NewTokenSheet } from '../tokens/new-token.tsx'
import { ProjectStep } from './project.tsx'
import { onboardingQuery } from './queries.ts'
import { type StepName, stepNames } from './search.ts'
import { TeamStep } from './team.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/welcome')

export function WelcomePage() {
  const { data } = useSuspenseQuery(onboardingQuery)
  const navigate = route.useNavigate()
  useCrumbs({ label: words.title })
  const asked = route.useSearch().step
  const isDone = (name: StepName) => data.steps.some(({ id, done }) => id === name && done)
  const at = asked ?? stepNames.find((name) => !isDone(name))
  const go = (step: StepName) => void navigate({ search: (before) => ({ ...before, step }) })
  const next = (name: StepName) => go(stepNames[stepNames.indexOf(name) + 1] ?? 'project')
  const bodies: Record<StepName, () => ReactNode> = {
    organization: () => <TeamStep isFirst={data.onboardedAt === null} onDone={() => next('organization')} />,
    invite: () => <InviteStep onDone={() => next('invite')} />,
    token: () => <TokenStep onDone={() => next('token')} />,
    project: () => <ProjectStep />,
  }
  return (
    <div className="scroll">
      <div className="page stack s5 welcome">
        <header>
          <h1 className="h1">{words.title}</h1>
          <p className="soft">{words.about}</p>
        </header>
        <ol className="sheet steps">
          {stepNames.map((name, place) => (
            <li key={name} aria-current={name === at ? 'step' : undefined}>
              <div className={isDone(name) ? 'stepn ok' : 'stepn'}>
                {isDone(name) ? <Check className="i s14" aria-label={words.done} /> : place + 1}
              </div>
              <div className="stack">
                <div className="row">
                  <h2 className="h2 grow">{words.steps[name]}</h2>
                  {name !== at && (
                    <button type="button" className="btn small quiet" onClick={() => go(name)}>
                      {words.open}
                      <span className="hide"> {words.steps[name]}</span>
                    </button>
                  )}
                  {name === at && name !== 'project' && (
                    <button type="button" className="btn small quiet" onClick={() => next(name)}>
                      {isDone(name) ? words.next : words.skip}
                    </button>
                  )}
                </div>
                {name === at && bodies[name]()}
              </div>
            </li>
          ))}
        </ol>
        <p className="row">
          <span className="grow soft">{!at && words.allDone}</span>
          <Link className="btn quiet" to="/">
            {words.home}
          </Link>
        </p>
      </div>
    </div>
  )
}

function InviteStep({ onDone }: { onDone(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(teamMembersQuery(team.id))
  const invite = useInvite(team.id)
  if (!data) return <LoadStatus of={{ data, error }} />
  return (
    <>
      <p className="soft">{words.invite.about}</p>
      {data.can.invite === true && (
        <InviteForm gives={data.gives} busy={invite.isPending} onInvite={(value) => invite.mutate(value)} />
      )}
      {invite.error && <ProblemBox error={invite.error} />}
      {invite.data && (
        <>
          <InviteSentMessage invite={invite.data} />
          <p>
            <button type="button" className="btn main" onClick={onDone}>
              {words.next}
            </button>
          </p>
        </>
      )}
    </>
  )
}

function TokenStep({ onDone }: { onDone(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const name = useQuery(teamsQuery).data?.find(({ id }) => id === team.id)?.name ?? ''
  const [made, setMade] = useState<NewToken>()
  if (made) return <NewTokenSheet made={made} team={name} onDone={onDone} done={words.token.next} />
  return (
    <>
      <p className="soft">{words.token.about}</p>
      <CreateToken onCreated={setMade} />
    </>
  )
}
