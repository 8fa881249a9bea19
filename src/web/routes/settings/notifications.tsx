import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { NotificationPreferencesPatch } from '../../../features/users/notification-rules.ts'
import { accounts, ok } from '../../api.ts'
import { Menu, type MenuEntry } from '../../components/menu.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { dayAndTime } from '../../lib/times.ts'
import { DailyMail } from './daily-mail.tsx'
import { Push } from './push.tsx'
import { preferencesQuery, pushQuery, useSettingsChange } from './queries.ts'
import { RuleTable } from './rules.tsx'
import { titles, notificationWords as w, words } from './words.ts'

/** Each choice is saved at once. */
export function Settings() {
  useCrumbs({ label: words.settings, to: '/settings/profile' }, { label: titles.notifications })
  const cache = useQueryClient()
  const { data, error } = useQuery(preferencesQuery)
  const { data: push } = useQuery(pushQuery)
  const save = useSettingsChange(
    (notifications: NotificationPreferencesPatch) => ok(accounts.settings.preferences.patch({ notifications })),
    (after) => cache.setQueryData(preferencesQuery.queryKey, after),
  )
  const now = data?.notifications
  return (
    <div className="stack s5">
      <header className="row">
        <div className="grow">
          <h1 className="h1">{titles.notifications}</h1>
          <p className="soft">{w.about}</p>
        </div>
        {now && !now.pausedUntil && <Pause onPause={(pausedUntil) => save.mutate({ pausedUntil })} />}
      </header>
      <LoadStatus of={{ data, error }} />
      {save.error && <ProblemBox error={save.error} />}
      {now?.pausedUntil && (
        <p className="sheet pad row">
          <span className="grow">{w.paused(dayAndTime(now.pausedUntil))}</span>
          <button type="button" className="btn small" onClick={() => save.mutate({ pausedUntil: null })}>
            {w.resume}
          </button>
        </p>
      )}
      {now && <RuleTable rules={now.rules} push={push?.on ?? false} onChange={save.mutate} />}
      {now &&
        (now.sendsMail ? <DailyMail daily={now.daily} onChange={save.mutate} /> : <p className="soft">{w.noServer}</p>)}
      <Push />
      <p>
        {w.elsewhere} <Link to="/settings/integrations">{w.integrations}</Link>
      </p>
      <p className="soft t12" role="status">
        {save.isSuccess && words.saved}
      </p>
    </div>
  )
}

/** Returns when a pause of this length ends. */
function endOf(length: string): string {
  const end = new Date()
  if (length === 'hour') end.setHours(end.getHours() + 1)
  else {
    end.setDate(end.getDate() + ({ day: 1, week: 7, month: 28 }[length] ?? 1))
    end.setHours(8, 0, 0, 0)
  }
  return end.toISOString()
}

const pauses: MenuEntry[] = Object.entries(w.pauses).map(([value, label]) => ({ value, label }))

const Pause = ({ onPause }: { onPause(until: string): void }) => (
  <Menu
    trigger={
      <button type="button" className="btn">
        {w.pause}
      </button>
    }
    entries={pauses}
    onChoose={(length) => onPause(endOf(length))}
  />
)
