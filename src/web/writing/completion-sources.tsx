/** What the editor completes: people and agents of the team behind `@`, tasks behind `#`, notes behind `[[`. */
import { useQueryClient } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Status } from '../../records/task-states.ts'
import { agentsQuery, membersQuery } from '../account/session.ts'
import { ok, search } from '../api.ts'
import { Avatar } from '../components/avatar.tsx'
import { StatusGlyph } from '../components/glyphs.tsx'
import type { CompletionSources } from '../components/text/completions.tsx'
import { words } from './words.ts'

const MOST = 8

const suggest = async (kinds: 'note' | 'task', q: string, projectId?: string) =>
  (
    await ok(
      search.search.suggestions.get({
        query: { kinds, limit: MOST, ...(q && { q }), ...(projectId && { projectId }) },
      }),
    )
  ).items

/** `projectId`: only tasks of this project are offered. */
export function useCompletionSources(projectId?: string): CompletionSources {
  const { team } = useRouteContext({ from: '/inside' })
  const cache = useQueryClient()
  return useMemo(() => {
    const parties = async () => {
      const [members, agents] = await Promise.all([
        cache.ensureQueryData(membersQuery(team.id)),
        cache.ensureQueryData(agentsQuery(team.id)),
      ])
      return [
        ...members.map(({ id, name, handle }) => ({ type: 'user' as const, id, name, handle })),
        ...agents.map(({ id, name, slug }) => ({ type: 'agent' as const, id, name, handle: slug })),
      ]
    }
    return {
      note: async (query) =>
        (await suggest('note', query)).map(({ title }) => ({ insert: `[[${title}]]`, label: title })),
      task: async (query) =>
        (await suggest('task', query, projectId)).map(({ key, title, status }) => ({
          insert: `[${key}](/tasks/${key}) `,
          label: title,
          hint: key ?? '',
          glyph: status && <StatusGlyph status={status as Status} />,
        })),
      person: async (query) => {
        const like = query.toLowerCase()
        return (await parties())
          .filter(({ handle, name }) => handle.startsWith(like) || name.toLowerCase().startsWith(like))
          .slice(0, MOST)
          .map(({ handle, name, ...party }) => ({
            insert: `@${handle} `,
            label: name,
            hint: party.type === 'agent' ? words.agent : `@${handle}`,
            glyph: <Avatar party={{ ...party, name }} />,
          }))
      },
    }
  }, [cache, team.id, projectId])
}
