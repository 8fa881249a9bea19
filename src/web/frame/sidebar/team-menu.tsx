/** The menu of the team: members, tokens, trash, reports, administration, and the way to other teams. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouteContext } from '@tanstack/react-router'
import { ArrowLeftRight, ChevronDown, Plus } from 'lucide-react'
import { Suspense, useState } from 'react'
import { agentsQuery, membersQuery, teamsQuery } from '../../account/session.ts'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import type { MenuEntry } from '../../components/menu.tsx'
import { lazy } from '../../lib/lazy.ts'
import { words } from '../../words.ts'
import { useDestinations } from '../current-page.ts'

const TeamSwitch = lazy(() => import('./team-switch.tsx'))

export function TeamMenu() {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  const { destinations } = useDestinations()
  const navigate = useNavigate()
  const [switching, setSwitching] = useState(false)
  const name = teams.find(({ id }) => id === team.id)?.name ?? ''
  const pages: MenuEntry[] = destinations
    .filter(({ group }) => group === 'team')
    .map(({ to, label, icon: Icon, key, admin }) => ({
      value: to,
      label,
      glyph: <Icon className="i" aria-hidden />,
      ...(key && { keys: `g ${key}` }),
      ...(admin && { apart: true }),
    }))
  const others: MenuEntry[] = [
    ...(teams.length > 1
      ? [{ value: 'switch', label: words.teamMenu.switch, glyph: <ArrowLeftRight className="i" aria-hidden /> }]
      : []),
    { value: '/welcome', label: words.teamMenu.create, glyph: <Plus className="i" aria-hidden /> },
  ]
  return (
    <>
      <LazyMenu
        trigger={
          <button type="button" className="btn quiet small team" aria-label={words.switchTeam(name)}>
            <span className="cut">{name}</span>
            <ChevronDown className="i s12" aria-hidden />
          </button>
        }
        className="menu wide"
        head={<TeamHead name={name} />}
        entries={[...pages, ...others.map((entry, place) => (place === 0 ? { ...entry, apart: true } : entry))]}
        onChoose={(value) => (value === 'switch' ? setSwitching(true) : void navigate({ to: value }))}
      />
      {switching && (
        <Suspense>
          <TeamSwitch onClose={() => setSwitching(false)} />
        </Suspense>
      )}
    </>
  )
}

function TeamHead({ name }: { name: string }) {
  const { team } = useRouteContext({ from: '/inside' })
  const people = useQuery(membersQuery(team.id)).data
  const agents = useQuery(agentsQuery(team.id)).data
  return (
    <div className="tmh">
      <b className="b6 cut">{name}</b>
      {people && agents && <span className="soft t12">{words.teamMenu.counts(people.length, agents.length)}</span>}
    </div>
  )
}
