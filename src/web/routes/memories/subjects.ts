import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { MemoryScope } from '../../../records/names.ts'
import { agentsQuery, projectsQuery } from '../../account/session.ts'

/** The subjects that memories can have, by name. Sessions have no names. */
export interface MemorySubject {
  id: string
  scope: MemoryScope
  name: string
}

export function useMemorySubjects(team: string): readonly MemorySubject[] {
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
