/** The favourites of the reader in this team: projects, saved views, tasks, notes and other records. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Bookmark, CircleDot, FileText, type LucideIcon } from 'lucide-react'
import type { Favourite } from '../../../features/home/schema.ts'
import { kindInfo, type RecordName } from '../../../records/names.ts'
import { useFavourites } from '../../account/favourites.ts'
import { projectsQuery, teamsQuery } from '../../account/session.ts'
import { words } from '../../words.ts'
import { useDestinations } from '../current-page.ts'
import { projectAddress } from '../destinations.ts'

export function SidebarFavourites() {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  const { items } = useFavourites()
  // A project that another team shares is listed in every team of the reader.
  const isHere = ({ organizationId: id }: Favourite) => id === team.id || !teams.some((other) => other.id === id)
  const shown = items.filter(isHere)
  if (shown.length === 0) return null
  return (
    <div role="group" aria-label={words.groups.favourites}>
      <h2>{words.groups.favourites}</h2>
      {shown.map((record) => (
        <FavouriteEntry key={record.id} record={record} />
      ))}
    </div>
  )
}

function FavouriteEntry({ record }: { record: Favourite }) {
  const { kind, title, key } = record
  const { to, search } = useFavouriteAddress(record)
  return (
    <Link
      className="nav"
      to={to}
      search={search}
      title={title}
      activeOptions={{ exact: true, includeSearch: kind === 'view' }}
    >
      <FavouriteIcon record={record} />
      {kind === 'task' && <span className="soft">{key}</span>}
      <span className="cut">{title}</span>
    </Link>
  )
}

const own: Partial<Record<Favourite['kind'], LucideIcon>> = { view: Bookmark, note: FileText }

function FavouriteIcon({ record: { kind, id } }: { record: Favourite }) {
  const { team } = useRouteContext({ from: '/inside' })
  const project = useQuery(projectsQuery(team.id)).data?.find((one) => one.id === id)
  const { destinations } = useDestinations()
  if (kind === 'project') return <span className={`pdot ${project?.color ?? ''}`} />
  const list = kind === 'view' ? undefined : kindInfo(kind as RecordName).path
  const Icon = own[kind] ?? destinations.find(({ to }) => to === list)?.icon ?? CircleDot
  return <Icon className="i" aria-hidden />
}

/** Returns the address of a favourite. A project has its slug in the address, and a view its query. */
function useFavouriteAddress({ kind, id, path }: Favourite): { to: string; search: Record<string, string> } {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const [address = '', query] = path.split('?')
  const ref = kind === 'project' ? id : /^\/projects\/([^/]+)/.exec(address)?.[1]
  const slug = projects.find((project) => project.id === ref)?.slug
  return {
    to: slug && ref ? address.replace(`/projects/${ref}`, projectAddress(slug)) : address,
    search: Object.fromEntries(new URLSearchParams(query)),
  }
}
