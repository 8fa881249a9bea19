import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { MemoryScope } from '../../../records/names.ts'
import { agentsQuery, projectsQuery } from '../../session.ts'

/** The subjects that memories can have, by name. Sessions have no names. */
export interface About {
  id: string
  scope: MemoryScope
  name: string
}

export function useAbouts(team: string): readonly About[] {
  const projects = useQuery(projectsQuery(team)).data
  const agents = useQuery(agentsQuery(team)).data
  return useMemo(
    () => [
      ...(projects ?? []).map(({ id, name }) => ({ id, name, scope: 'project' as const })),
      ...(agents ?? []).map(({ id, name }) => ({ id, name, scope: 'agent' as const })),
    ],
    [projects, agents],
  )
}
