import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { dayAndTime } from '../../times.ts'
import { sessionQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/sessions/$id')

export function SessionPage() {
  const { id } = route.useParams()
  const { data: session } = useSuspenseQuery(sessionQuery(id))
  return (
    <div className="scroll">
      <div className="page wide stack s4 rep">
        <h1 className="h1">{session.goals[0] ?? words.noGoal}</h1>
        <p className="soft t13">{dayAndTime(session.startedAt)}</p>
        {session.checkpoint?.nextStep && (
          <section className="sheet pad stack">
            <h2 className="h2">{words.checkpoint}</h2>
            <p>{session.checkpoint.nextStep}</p>
          </section>
        )}
        <section className="sheet pad stack">
          <h2 className="h3">{words.resume}</h2>
          <code className="code">{words.command(session.id)}</code>
        </section>
      </div>
    </div>
  )
}
