/**
 * An address without a team may belong to a record in another team of the reader, as in old links. The record is looked
 * up in all their teams. If one has it, it is opened; of several, the reader chooses one.
 */
import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, useLocation } from '@tanstack/react-router'
import { recordPathIn } from '../../../records/names.ts'
import { teamsQuery } from '../../account/session.ts'
import { existsInTeam } from '../../api.ts'
import { EmptyState, Waiting } from '../../components/states.tsx'
import { words } from '../../words.ts'

/** More teams are not asked: a page that does not exist must not cost hundreds of requests. */
const MOST = 20

export function FindInOtherTeams({ otherwise }: { otherwise: React.ReactNode }) {
  const { pathname, search } = useLocation()
  const path = 'team' in search ? undefined : recordPathIn(pathname)
  const teams = useQuery(teamsQuery).data
  const { data: having } = useQuery({
    queryKey: ['elsewhere', path],
    queryFn: async () => {
      const asked = (teams ?? []).slice(0, MOST)
      const found = await Promise.all(asked.map(({ id }) => existsInTeam(`/api${path}`, id)))
      return asked.filter((_, place) => found[place])
    },
    enabled: path !== undefined && teams !== undefined && teams.length > 1,
  })
  if (!path || (teams && teams.length < 2) || having?.length === 0) return otherwise
  const [only, second] = having ?? []
  if (!only) return <Waiting />
  if (!second) return <Navigate to={pathname} search={{ ...search, team: only.slug }} replace />
  return (
    <div className="scroll">
      <EmptyState title={words.inTeams}>
        <p className="soft">{words.inTeamsText}</p>
        <p className="voidact">
          {having?.map(({ slug, name }) => (
            <Link key={slug} className="btn" to={pathname} search={{ ...search, team: slug }}>
              {name}
            </Link>
          ))}
        </p>
      </EmptyState>
    </div>
  )
}
