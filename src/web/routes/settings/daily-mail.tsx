import { Link } from '@tanstack/react-router'
import type {
  NotificationPreferencesAnswer,
  NotificationPreferencesPatch,
  Weekday,
} from '../../../features/users/notification-rules.ts'
import { notifications, ok } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useSettingsChange } from './queries.ts'
import { notificationWords as w } from './words.ts'

type Daily = NotificationPreferencesAnswer['daily']
type DayChoice = keyof typeof w.days

const work: Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri']
const every: Weekday[] = [...work, 'sat', 'sun']
const single = (day: Weekday): [Weekday, Weekday[]] => [day, [day]]
const dayChoices = { work, every, ...Object.fromEntries(every.map(single)) } as Record<string, Weekday[]>

const keyOf = (days: readonly Weekday[]): string => every.filter((day) => days.includes(day)).join()
const choiceOf = (days: readonly Weekday[]): DayChoice =>
  (Object.keys(dayChoices).find((name) => keyOf(dayChoices[name] ?? []) === keyOf(days)) ?? 'own') as DayChoice

const halfHours = Array.from({ length: 48 }, (_, i) => `${String(i >> 1).padStart(2, '0')}:${i % 2 ? '30' : '00'}`)
const timesWith = (at: string): string[] => (halfHours.includes(at) ? halfHours : [...halfHours, at].sort())

/** When the daily mail is sent. */
export function DailyMail({ daily, onChange }: { daily: Daily; onChange(patch: NotificationPreferencesPatch): void }) {
  const send = useSettingsChange(
    () => ok(notifications.notifications['daily-mail'].post()),
    ({ unread }) => toast({ title: unread > 0 ? w.sent(unread) : w.nothing }),
  )
  const chosen = choiceOf(daily.days)
  const choices = (Object.keys(w.days) as DayChoice[]).filter((name) => name !== 'own' || chosen === 'own')
  return (
    <section className="sheet pad stack">
      <div className="row">
        <h2 className="h2 grow">{w.daily}</h2>
        <button
          type="button"
          className="btn small quiet"
          disabled={send.isPending}
          onClick={() => send.mutate(undefined)}
        >
          {w.sendNow}
        </button>
      </div>
      {send.error && <ProblemBox error={send.error} />}
      <div className="row dailyrow">
        <label className="row">
          <span>{w.sendAt}</span>
          <select
            className="input"
            value={daily.at}
            onChange={(event) => onChange({ daily: { at: event.currentTarget.value } })}
          >
            {timesWith(daily.at).map((at) => (
              <option key={at}>{at}</option>
            ))}
          </select>
        </label>
        <label className="row">
          <span>{w.on}</span>
          <select
            className="input"
            value={chosen}
            onChange={(event) => {
              const days = dayChoices[event.currentTarget.value]
              if (days) onChange({ daily: { days } })
            }}
          >
            {choices.map((name) => (
              <option key={name} value={name}>
                {w.days[name]}
              </option>
            ))}
          </select>
        </label>
        <span className="soft">{w.empty}</span>
      </div>
      <p className="soft t12">
        {w.zone(daily.timezone)} <Link to="/settings/profile">{w.changeZone}</Link>
      </p>
    </section>
  )
}
