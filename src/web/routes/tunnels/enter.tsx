/** The host of a tunnel sends an unknown browser here, and this page sends it back with a one-time code. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ProblemBox, Skeleton } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { entryQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/tunnels/enter')

export function EnterPage() {
  const { to } = route.useSearch()
  useCrumbs({ label: words.title, to: '/tunnels' }, { label: words.entering })
  const { data, error } = useQuery({ ...entryQuery(to ?? ''), enabled: to !== undefined })
  useEffect(() => {
    if (data) location.replace(data.location)
  }, [data])
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.entering}</h1>
        {error ? <ProblemBox error={error} /> : to === undefined ? <p className="soft">{words.wrong}</p> : <Skeleton />}
      </div>
    </div>
  )
}
