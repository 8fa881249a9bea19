import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouteContext } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { teamsQuery } from '../../account/session.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { words } from '../../words.ts'

/** The teams of the reader: choosing one opens its projects in this tab. */
export default function TeamSwitch({ onClose }: { onClose(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  const navigate = useNavigate()
  return (
    <Dialog title={words.teamMenu.switchTitle} open onClose={onClose}>
      <ul className="choices">
        {teams.map(({ id, slug, name }) => (
          <li key={id}>
            <button
              type="button"
              className="opt"
              aria-current={id === team.id ? 'true' : undefined}
              onClick={() => {
                onClose()
                void navigate({ to: '/projects', search: { team: slug } })
              }}
            >
              <span className="grow cut">{name}</span>
              {id === team.id && <Check className="i s14" aria-hidden />}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
