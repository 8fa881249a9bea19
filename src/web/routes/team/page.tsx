/** The people of a team: who they are, what they may do, who is here now, and who is invited. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { teamsQuery } from '../../account/session.ts'
import { ProblemBox } from '../../components/states.tsx'
import { TeamInvites } from './invites.tsx'
import { TeamRepositories, TeamWorkspaces } from './linked-lists.tsx'
import { TeamMembers } from './members.tsx'
import { teamMembersQuery } from './queries.ts'
import { PlanUsage } from './usage.tsx'
import { words } from './words.ts'

export function TeamPage() {
  const { team, me } = useRouteContext({ from: '/inside' })
  const teams = useSuspenseQuery(teamsQuery).data
  const { data, error } = useQuery(teamMembersQuery(team.id))
  const here = teams.find(({ id }) => id === team.id)
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead">
          <div className="grow">
            <h1 className="h1">{here?.name}</h1>
            {here?.role && <p className="soft">{words.about(here.role)}</p>}
          </div>
          <Link className="btn" to="/team/analytics">
            {words.analytics}
          </Link>
        </header>
        {error && !data && <ProblemBox error={error} />}
        {data && <TeamMembers team={team.id} me={me.id} members={data} />}
        {data && <TeamInvites team={team.id} may={data.can.invite === true} gives={data.gives} />}
        <PlanUsage team={team.id} />
        <TeamWorkspaces team={team.id} />
        <TeamRepositories team={team.id} />
      </div>
    </div>
  )
}
