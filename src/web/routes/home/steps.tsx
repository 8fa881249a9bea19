import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check, Circle } from 'lucide-react'
import { stepsQuery } from './queries.ts'
import { words } from './words.ts'

const order = ['project', 'token', 'invite'] as const

/** The first steps, until the team has a project. Each names the page and the command that do it. */
export function FirstSteps() {
  const done = new Set(useQuery(stepsQuery).data?.flatMap((step) => (step.done ? [step.id] : [])) ?? [])
  return (
    <section className="sheet pad begin" aria-labelledby="steps">
      <h2 className="h2" id="steps">
        {words.start}
      </h2>
      <p className="soft t13">{words.startText}</p>
      <ol className="stack s4">
        {order.map((id) => {
          const { title, text, command, to } = words.steps[id]
          return (
            <li key={id} className="row wide wrap">
              {done.has(id) ? (
                <Check className="i good" aria-label={words.stepDone} />
              ) : (
                <Circle className="i soft" aria-hidden />
              )}
              <span className="grow stack s1">
                <b className="b5">{title}</b>
                <span className="soft t13">{text}</span>
              </span>
              <code className="code">{command}</code>
              <Link className="btn small" to={to as string} aria-label={`${words.go}: ${title}`}>
                {words.go}
              </Link>
            </li>
          )
        })}
      </ol>
    </section>
  )
}
