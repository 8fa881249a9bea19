/** What was deleted and can come back. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate, useRouteContext } from '@tanstack/react-router'
import { Undo2 } from 'lucide-react'
import type { Trashed } from '../../../features/trash/schema.ts'
import { restorableNames } from '../../../records/names.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { LongList } from '../../components/list/long-list.tsx'
import { EmptyState } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago } from '../../lib/times.ts'
import { kindNames, kindTitle } from '../../words.ts'
import { trashQuery, useRestoreRecord } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/trash')
const ROW = 56

export function TrashPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { kind } = route.useSearch()
  useCrumbs({ label: words.title })
  const navigate = route.useNavigate()
  const choose = (next: Trashed['kind'] | undefined) => void navigate({ search: (all) => ({ ...all, kind: next }) })
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <select
          className="input slim"
          aria-label={words.kind}
          value={kind ?? ''}
          onChange={(event) => choose((event.currentTarget.value || undefined) as Trashed['kind'] | undefined)}
        >
          <option value="">{words.all}</option>
          {restorableNames.map((name) => (
            <option key={name} value={name}>
              {kindTitle(name)}
            </option>
          ))}
        </select>
      </div>
      <LongList
        found={useInfiniteQuery(trashQuery(team.id, kind))}
        size={ROW}
        row={(item) => <Row item={item} />}
        noMatch={kind && words.noMatch}
        onClear={() => choose(undefined)}
        empty={
          <EmptyState title={words.none}>
            <p className="soft">{words.noneText}</p>
            <div className="sheet ways">
              <CopyLine label={words.terminal} text={words.command} />
            </div>
          </EmptyState>
        }
      />
    </>
  )
}

function Row({ item }: { item: Trashed }) {
  const restore = useRestoreRecord()
  const navigate = useNavigate()
  const open = () => void navigate({ to: item.path })
  // Not with `mutate`, which skips the callbacks of a row that is gone.
  const run = () =>
    void restore.mutateAsync(item).then(
      () => toast({ title: words.restored(item.title), action: { label: words.open, run: open } }),
      (error: Error) => toast({ title: item.title, text: error.message, bad: true }),
    )
  return (
    <div className="recrow prow">
      <span className="flag">{kindNames[item.kind].one}</span>
      <b className="b5 grow cut">{item.title}</b>
      <span className="soft t12 hp">{words.deleted(item.deletedBy.name, ago(item.deletedAt))}</span>
      <button
        type="button"
        className="btn small"
        aria-label={words.restoreOne(item.title)}
        disabled={restore.isPending}
        onClick={run}
      >
        <Undo2 className="i s14" aria-hidden />
        {words.restore}
      </button>
    </div>
  )
}
