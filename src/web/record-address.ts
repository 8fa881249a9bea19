/** The address of a record in the dashboard: the API's path without `/api`, in its own team. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { teamsQuery } from './account/session.ts'

interface RecordLocation {
  kind: string
  /** The API's path. */
  path: string
  organizationId: string | null
  key?: string | null
}

interface RecordAddress {
  to: string
  /** `team` where the record belongs to another team than this tab. */
  search: { team?: string }
}

/** Returns a function from a record to its address. */
export function useRecordAddress(): (record: RecordLocation) => RecordAddress {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  return ({ kind, path, organizationId, key }) => {
    const slug = teams.find(({ id }) => id === organizationId && id !== team.id)?.slug
    return {
      to: kind === 'task' && key ? `/tasks/${key}` : path.replace(/^\/api/, ''),
      search: slug ? { team: slug } : {},
    }
  }
}
