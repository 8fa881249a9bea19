/** Chooses whether a new credential sees all projects or only some. The form's fields are `limit` and `projects`. */
import { useState } from 'react'

interface Props {
  projects: readonly { id: string; name: string }[]
}

const words = {
  label: 'Projects',
  all: 'Every project that you see',
  some: 'Only some projects',
  choose: 'Visible projects',
  hint: 'All other records of the team, and personal records, stay hidden. You cannot change this later.',
  none: 'This team has no projects yet.',
} as const

export function ProjectLimitFields({ projects }: Props) {
  const [isLimited, setLimited] = useState(false)
  return (
    <>
      <label className="field">
        <span>{words.label}</span>
        <select
          className="input"
          name="limit"
          aria-describedby="limit-hint"
          value={isLimited ? 'some' : 'all'}
          onChange={(event) => setLimited(event.currentTarget.value === 'some')}
        >
          <option value="all">{words.all}</option>
          <option value="some">{words.some}</option>
        </select>
        {isLimited && (
          <small id="limit-hint" className="t12 soft">
            {words.hint}
          </small>
        )}
      </label>
      {isLimited && (
        <fieldset className="stack s2">
          <legend className="t12 soft">{words.choose}</legend>
          {projects.length === 0 && <p className="soft">{words.none}</p>}
          {projects.map(({ id, name }) => (
            <label key={id} className="row tight">
              <input type="checkbox" name="projects" value={id} /> {name}
            </label>
          ))}
        </fieldset>
      )}
    </>
  )
}

/** Returns the chosen projects; undefined for all. */
export const readProjectLimit = (form: HTMLFormElement): string[] | undefined => {
  const fields = new FormData(form)
  return fields.get('limit') === 'some' ? fields.getAll('projects').map(String) : undefined
}

/** Says what a credential sees: `null` without a limit. */
export const describeProjectLimit = (
  limit: readonly string[] | null,
  projects: readonly { id: string; name: string }[],
): string | null => {
  if (limit === null) return null
  if (limit.length === 0) return 'sees no project'
  const names = limit.map((id) => projects.find((one) => one.id === id)?.name ?? 'a deleted project')
  return `sees only ${names.join(', ')}`
}
