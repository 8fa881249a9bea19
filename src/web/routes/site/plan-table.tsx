/** Edits the table of plans. Its value goes with the form as JSON. */
import { useId, useState } from 'react'
import { words } from './words.ts'

const w = words.settings.plans
const limits = ['members', 'projects', 'agents', 'storageMb'] as const
type Limit = (typeof limits)[number]

interface Plan {
  /** Tells rows apart while their names are typed. */
  row: number
  name: string
  /** As typed; an empty text means no limit. */
  most: Record<Limit, string>
}

const noLimits: Plan['most'] = { members: '', projects: '', agents: '', storageMb: '' }

function plansOf(table: unknown): Plan[] {
  const entries = Object.entries((table ?? {}) as Record<string, Partial<Record<Limit, number | null>>>)
  return entries.map(([name, given], row) => {
    const most = limits.map((limit) => [limit, given[limit] == null ? '' : String(given[limit])])
    return { row, name, most: { ...noLimits, ...Object.fromEntries(most) } }
  })
}

/** Rows without a name are left out, and so are limits that are empty. */
const tableOf = (plans: readonly Plan[]): Record<string, Partial<Record<Limit, number>>> =>
  Object.fromEntries(
    plans
      .filter(({ name }) => name.trim() !== '')
      .map(({ name, most }) => [
        name.trim(),
        Object.fromEntries(limits.flatMap((limit) => (most[limit] === '' ? [] : [[limit, Number(most[limit])]]))),
      ]),
  )

export function PlanTable({ name, value }: { name: string; value: unknown }) {
  const [plans, setPlans] = useState(() => plansOf(value))
  const replace = (changed: Plan) => setPlans(plans.map((plan) => (plan.row === changed.row ? changed : plan)))
  const add = () =>
    setPlans([...plans, { row: Math.max(-1, ...plans.map(({ row }) => row)) + 1, name: '', most: noLimits }])
  return (
    <div className="stack s4">
      <input type="hidden" name={name} value={JSON.stringify(tableOf(plans))} />
      {plans.length === 0 && <p className="soft t13">{w.none}</p>}
      {plans.map((plan) => (
        <PlanRow
          key={plan.row}
          plan={plan}
          onChange={replace}
          onRemove={() => setPlans(plans.filter(({ row }) => row !== plan.row))}
        />
      ))}
      <p>
        <button type="button" className="btn" onClick={add}>
          {w.add}
        </button>
      </p>
    </div>
  )
}

interface RowProps {
  plan: Plan
  onChange: (plan: Plan) => void
  onRemove: () => void
}

function PlanRow({ plan, onChange, onRemove }: RowProps) {
  const id = useId()
  return (
    <fieldset className="planrow">
      <legend className="hide">{w.planOf(plan.name)}</legend>
      <div className="field">
        <label htmlFor={id}>{w.name}</label>
        <input
          id={id}
          className="input"
          value={plan.name}
          pattern="[a-z0-9](-?[a-z0-9])*"
          maxLength={40}
          placeholder="included"
          onChange={({ target }) => onChange({ ...plan, name: target.value })}
        />
      </div>
      {limits.map((limit) => (
        <div className="field" key={limit}>
          <label htmlFor={`${id}-${limit}`}>{w.limits[limit]}</label>
          <input
            id={`${id}-${limit}`}
            className="input"
            type="number"
            min={0}
            step={1}
            value={plan.most[limit]}
            placeholder={w.unlimited}
            onChange={({ target }) => onChange({ ...plan, most: { ...plan.most, [limit]: target.value } })}
          />
        </div>
      ))}
      <button type="button" className="btn" aria-label={w.removeOf(plan.name)} onClick={onRemove}>
        {w.remove}
      </button>
    </fieldset>
  )
}
