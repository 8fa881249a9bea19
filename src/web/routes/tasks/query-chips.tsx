/** The filters of the page as chips, and a button that copies their address. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Link as LinkIcon, ListFilter, Plus, X } from 'lucide-react'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Kbd } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { copyText } from '../../lib/clipboard.ts'
import { priorityNames, statusNames } from '../../words.ts'
import { taskCountsQuery } from './queries.ts'
import { type FilterName, filterNames, isUnfiltered, listParts, noFilters, type TaskSearch } from './search.ts'
import { words } from './words.ts'

interface Props {
  project: { id: string; slug: string }
  search: TaskSearch
  /** How many tasks match, where that is known. */
  total: number | undefined
  onChange(change: Partial<TaskSearch>): void
  onFilter(): void
}

export function QueryChips({ project, search, total, onChange, onFilter }: Props) {
  const textOf = useNames(project.id, search)
  const copy = async () => {
    await copyText(location.href)
    toast({ title: words.copied })
  }
  return (
    <div className="querywrap">
      <div className="query" role="group" aria-label={words.filter}>
        <ListFilter className="i s14" aria-hidden />
        <span className="path hp">/projects/{project.slug}/tasks?</span>
        {filterNames
          .filter((name) => search[name] !== undefined)
          .map((name) => (
            <span className="chip" key={name}>
              <i>{words.filters[name]}</i>
              <b>{textOf(name)}</b>
              <button
                type="button"
                className="ib"
                aria-label={words.remove(`${words.filters[name]} ${textOf(name)}`)}
                onClick={() => onChange({ [name]: undefined })}
              >
                <X className="i s12" aria-hidden />
              </button>
            </span>
          ))}
        <button type="button" className="btn quiet small" onClick={onFilter}>
          <Plus className="i s12" aria-hidden />
          {words.filter} <Kbd>f</Kbd>
        </button>
        {total !== undefined && <span className="end soft">{words.n(total)}</span>}
        <button type="button" className="ib s24" aria-label={words.copyAddress} onClick={() => void copy()}>
          <LinkIcon className="i s14" aria-hidden />
        </button>
        {!isUnfiltered(search) && (
          <button type="button" className="btn small quiet" onClick={() => onChange(noFilters)}>
            {words.clear}
          </button>
        )}
      </div>
    </div>
  )
}

/** Returns how the value of a filter reads: with names instead of ids. */
function useNames(projectId: string, search: TaskSearch): (name: FilterName) => string {
  const { team } = useRouteContext({ from: '/inside' })
  const wanted = search.assignee !== undefined || search.holder !== undefined
  const members = useQuery({ ...membersQuery(team.id), enabled: wanted }).data ?? []
  const agents = useQuery({ ...agentsQuery(team.id), enabled: wanted }).data ?? []
  const epics = useQuery({ ...taskCountsQuery(projectId, 'epic'), enabled: search.epic !== undefined }).data ?? []
  const party = (id: string) =>
    id === 'none' ? words.nobody : ([...members, ...agents].find((one) => one.id === id)?.name ?? id)
  return (name) => {
    const list = (label: (value: string) => string) => listParts(String(search[name])).map(label).join(', ')
    if (name === 'status') return list((value) => statusNames[value as keyof typeof statusNames])
    if (name === 'priority') return list((value) => priorityNames[value as keyof typeof priorityNames])
    if (name === 'assignee' || name === 'holder') return list(party)
    if (name === 'leased') return words.leased[String(search.leased) as 'true']
    if (name === 'epic') return epics.find(({ value }) => value === search.epic)?.name ?? words.filters.epic
    return String(search[name])
  }
}
