/** Saved views of the page: open one, save the query of the address, delete. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Users, X } from 'lucide-react'
import { useState } from 'react'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useViewChange, viewsQuery } from './queries.ts'
import { taskSearch } from './search.ts'
import { words } from './words.ts'

interface Props {
  /** The id of a project, or ALL_PROJECTS. */
  scope: string
  may: boolean
  onClose(): void
}

/** The query of the address, without what belongs to the visit. */
function currentQuery(): string {
  const query = new URLSearchParams(location.search)
  query.delete('open')
  query.delete('team')
  return query.toString()
}

const parseViewQuery = (query: string) =>
  taskSearch(
    Object.fromEntries(
      [...new URLSearchParams(query)].map(([name, value]) => [name, name === 'leased' ? value === 'true' : value]),
    ),
  )

export default function ViewsDialog({ scope, may, onClose }: Props) {
  const { data: views = [], error } = useQuery(viewsQuery(scope))
  const change = useViewChange(scope)
  const [name, setName] = useState('')
  const [shared, setShared] = useState(false)
  return (
    <Dialog title={words.saved.title} open onClose={onClose}>
      {error && <ProblemBox error={error} />}
      <ul className="choices">
        {views.map((view) => (
          <li key={view.id} className="row">
            <Link className="opt grow" to="." search={parseViewQuery(view.query) as object} onClick={onClose}>
              <span className="grow cut">{view.name}</span>
              {view.shared && <Users className="i s14" role="img" aria-label={words.saved.shared} />}
            </Link>
            {view.can.remove === true && (
              <button
                type="button"
                className="ib s24"
                aria-label={words.saved.remove(view.name)}
                onClick={() => change.mutate({ remove: view.id })}
              >
                <X className="i s14" aria-hidden />
              </button>
            )}
          </li>
        ))}
      </ul>
      {views.length === 0 && <p className="soft">{words.saved.none}</p>}
      {may && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            const save = { name: name.trim(), query: currentQuery(), shared }
            change.mutate({ save }, { onSuccess: () => setName('') })
          }}
        >
          <Field label={words.saved.name} value={name} required maxLength={80} onText={setName} />
          <label className="row">
            <input type="checkbox" checked={shared} onChange={(event) => setShared(event.currentTarget.checked)} />
            {words.saved.share}
          </label>
          {change.error && <ProblemBox error={change.error} />}
          <button type="submit" className="btn main" disabled={change.isPending || name.trim() === ''}>
            {words.saved.save}
          </button>
        </form>
      )}
    </Dialog>
  )
}
