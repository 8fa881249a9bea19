/** Tasks that may be about the same work, while the title is written. */
import { useQuery } from '@tanstack/react-query'
import { Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { ok, tasks } from '../../api.ts'
import { statusNames } from '../../words.ts'
import { words } from './words.ts'

const REST = 400
const SHORTEST = 4

/** Returns the value once it has not changed for a while. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

export function SimilarTasks({ title, project }: { title: string; project: string }) {
  const asked = useSettled(title.trim(), REST)
  const { data } = useQuery({
    queryKey: ['similar', project, asked],
    queryFn: () => ok(tasks.tasks.similar.get({ query: { title: asked, project } })),
    enabled: asked.length >= SHORTEST,
    staleTime: 60_000,
  })
  const items = asked.length < SHORTEST ? [] : (data?.items ?? [])
  return (
    <div role="status">
      {items.length > 0 && (
        <p className="similar">
          <Copy className="i s14" aria-hidden />
          <span>
            {words.similar}{' '}
            {items.map((item, place) => (
              <span key={item.id}>
                {place > 0 && ' · '}
                <a className="link" href={`/tasks/${item.key}`} target="_blank" rel="noreferrer">
                  {item.key}
                </a>{' '}
                {item.title}{' '}
                <span className="soft">
                  {statusNames[item.status].toLowerCase()}, {item.score}
                </span>
              </span>
            ))}
          </span>
        </p>
      )}
    </div>
  )
}
