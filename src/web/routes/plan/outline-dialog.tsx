import { useState } from 'react'
import type { PlanCreate } from '../../../features/planning/schema.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { parseOutline, planSize } from './outline.ts'
import { useCreatePlan } from './queries.ts'
import { words } from './words.ts'

/** Shows what an outline would create before it does. */
export default function OutlineDialog({ slug, onClose }: { slug: string; onClose(): void }) {
  const [text, setText] = useState('')
  const [once] = useState(newIdempotencyKey)
  const create = useCreatePlan(slug)
  const plan = parseOutline(text)
  const { epics, stories, tasks } = planSize(plan)
  return (
    <Dialog title={words.outline.title} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate({ plan, once }, { onSuccess: onClose })
        }}
      >
        <label className="field">
          <span>{words.outline.label}</span>
          <textarea
            className="input outline"
            placeholder={words.outline.placeholder}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <span className="t12 soft">{words.outline.hint}</span>
        </label>
        {epics > 0 && (
          <section aria-label={words.outline.preview} className="stack s1">
            <b className="b5">
              {words.outline.preview} {words.outline.size(epics, stories, tasks)}
            </b>
            <Preview plan={plan} />
          </section>
        )}
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={epics === 0 || create.isPending}>
          {words.outline.apply}
        </button>
      </form>
    </Dialog>
  )
}

const Preview = ({ plan }: { plan: PlanCreate }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keys
  <pre className="outlined sheet pad8" tabIndex={0}>
    {plan.epics.map((epic) => [epic.title, ...(epic.stories ?? []).map(storyLines)].join('\n')).join('\n')}
  </pre>
)

const storyLines = ({ title, tasks = [] }: { title: string; tasks?: readonly { title: string }[] }): string =>
  [`    ${title}`, ...tasks.map((task) => `        ${task.title}`)].join('\n')
