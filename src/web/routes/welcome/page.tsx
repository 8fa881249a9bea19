import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { ok, onboarding } from '../../api.ts'
import { words } from './words.ts'

const onboardingQuery = queryOptions({ queryKey: ['onboarding'], queryFn: () => ok(onboarding.onboarding.get()) })

export function WelcomePage() {
  const { steps } = useSuspenseQuery(onboardingQuery).data
  return (
    <div className="scroll">
      <div className="page stack s5">
        <h1 className="h1">{words.title}</h1>
        <p className="soft">{words.about}</p>
        <ol className="sheet">
          {steps.map((step) => (
            <li key={step.id} className="row padx">
              <span className="grow">{words.steps[step.id]}</span>
              <span className={step.done ? 'flag good' : 'flag'}>{step.done ? words.done : words.open}</span>
            </li>
          ))}
        </ol>
      </div>
    </div>
  )
}
