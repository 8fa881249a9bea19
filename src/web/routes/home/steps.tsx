import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check, GitBranch, Keyboard, Sparkles, Upload, Users } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import { useFirstSteps } from '../../account/first-steps.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { keyLabels } from '../../shortcuts.ts'
import { NewProject, NewTask, useCreateSample } from './first-records.tsx'
import { stepsQuery } from './queries.ts'
import { words } from './words.ts'

type StepName = keyof typeof words.steps

interface Props {
  /** The slugs of the team's projects, oldest first. */
  projects: readonly string[]
}

/** The first steps. Each is done according to the records, however they were created. */
export function FirstSteps({ projects }: Props) {
  const steps = useQuery(stepsQuery).data?.steps ?? []
  const isDone = (name: StepName): boolean =>
    name === 'project' ? projects.length > 0 : steps.some(({ id, done }) => id === name && done)
  const names = Object.keys(words.steps) as StepName[]
  const current = names.find((name) => !isDone(name))
  const bodies: Record<StepName, ReactNode> = {
    project: isDone('project') ? null : <ProjectStep />,
    first_call: <AgentStep isDone={isDone('first_call')} />,
    first_task: <NewTask project={projects[0]} />,
  }
  return (
    <section className="hnew" aria-label={words.first}>
      <ol className="hsteps">
        {names.map((name, place) => (
          <li key={name} className={name === current ? 'hstep now' : 'hstep'} aria-current={name === current && 'step'}>
            <span className={isDone(name) ? 'stepn ok' : 'stepn'}>
              {isDone(name) ? <Check className="i s14" aria-label={words.stepDone} /> : place + 1}
            </span>
            <div className="stack">
              <div>
                <h2 className="b6">{words.steps[name].title}</h2>
                <p className="t13 soft">{words.steps[name].text}</p>
              </div>
              {bodies[name]}
            </div>
          </li>
        ))}
      </ol>
      <MoreCards />
      <HideSteps />
    </section>
  )
}

function ProjectStep() {
  const sample = useCreateSample()
  return (
    <>
      <NewProject />
      <p className="row wrap t13 hor">
        <span className="soft">{words.or}</span>
        <a className="btn small" href="/manual/offline">
          <Upload className="i s14" aria-hidden /> {words.importTasks}
        </a>
        <Link className="btn small" to="/team">
          <GitBranch className="i s14" aria-hidden /> {words.fromRepository}
        </Link>
        <button type="button" className="btn small" disabled={sample.isPending} onClick={() => sample.mutate()}>
          <Sparkles className="i s14" aria-hidden /> {words.trySample}
        </button>
      </p>
      {sample.error && <ProblemBox error={sample.error} />}
    </>
  )
}

function AgentStep({ isDone }: { isDone: boolean }) {
  const source = useRef<HTMLElement>(null)
  return (
    <>
      <div className="code line">
        <span className="grow cut" ref={source}>
          {words.connect}
        </span>
        <CopyButton text={words.connect} source={source} name={words.command} />
      </div>
      <p className="row wrap t13 soft">
        {!isDone && <span className="firstcall" aria-hidden />}
        <span role="status">{isDone ? words.connected : words.waiting}</span>
        <Link className="link" to="/tokens">
          {words.another}
        </Link>
      </p>
    </>
  )
}

const MoreCards = () => (
  <div className="hmore">
    <div className="hcard">
      <Users className="i" aria-hidden />
      <div className="grow">
        <h2 className="b5">{words.others}</h2>
        <p className="t13 soft">{words.othersText}</p>
      </div>
      <Link className="btn small" to="/team">
        {words.invite}
      </Link>
    </div>
    <div className="hcard">
      <Keyboard className="i" aria-hidden />
      <div>
        <h2 className="b5">{words.keyboard}</h2>
        <p className="t13 soft">
          {keyLabels('$mod+k').map((cap) => (
            <Kbd key={cap}>{cap}</Kbd>
          ))}{' '}
          {words.finds} <Kbd>?</Kbd> {words.lists}
        </p>
      </div>
    </div>
  </div>
)

function HideSteps() {
  const choose = useFirstSteps()
  const hide = () => {
    choose('off')
    toast({ title: words.hidden })
  }
  return (
    <p className="t12 hhide">
      <button type="button" className="link" onClick={hide}>
        {words.hide}
      </button>
    </p>
  )
}
