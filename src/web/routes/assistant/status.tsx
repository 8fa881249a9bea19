import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import type { AiStatus } from '../../../features/assistant/schema.ts'
import { assistantStatusQuery } from './queries.ts'
import { words } from './words.ts'

/** Where questions go, and what is missing. */
export function AssistantStatus() {
  const { team, me } = useRouteContext({ from: '/inside' })
  const { data } = useQuery(assistantStatusQuery(team.id))
  if (!data) return null
  const notes = notesOf(data)
  return (
    <div className="stack s1 soft t12">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {data.model === null && me.role === 'admin' && (
        <p>
          {words.noModelAdmin}{' '}
          <a className="link" href="/manual/assistant">
            {words.manual}
          </a>
        </p>
      )}
    </div>
  )
}

const notesOf = ({ model, host, local, team, left }: AiStatus): string[] => [
  ...(model === null ? [words.noModel] : []),
  ...(host && !local ? [words.goesTo(host)] : []),
  ...(team ? [] : [words.off]),
  ...(left === null ? [] : [words.left(left)]),
]
