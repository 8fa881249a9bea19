import { useQuery } from '@tanstack/react-query'
import type { LoginSession } from '../../../features/accounts/schema.ts'
import { accounts, ok } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago } from '../../lib/times.ts'
import { browserName } from './browser-name.ts'
import { ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { sessionsQuery, useSettingsChange } from './queries.ts'
import { accountWords, titles, sessionWords as w } from './words.ts'

const nameOf = ({ device, userAgent }: LoginSession): string => device ?? browserName(userAgent ?? w.unknown)

const providers: Record<string, string> = accountWords.providers
const factsOf = (session: LoginSession) => [
  session.impersonated ? w.acting : w.by(providers[session.via] ?? session.via.replace('_', ' ')),
  session.ip ?? w.noAddress,
  session.current ? w.here : w.seen(ago(session.lastSeenAt)),
]

export function Settings() {
  const { data, error } = useQuery(sessionsQuery)
  const end = useSettingsChange(
    (id: string) => ok(accounts.settings.sessions({ id }).delete()),
    () => toast({ title: w.ended }),
  )
  return (
    <SettingsSheet title={titles.sessions} about={w.about}>
      {end.error && <ProblemBox error={end.error} />}
      <ItemList
        items={data}
        error={error}
        label={titles.sessions}
        item={(session) => (
          <>
            <ItemLine name={nameOf(session)} facts={factsOf(session)} />
            {!session.current && (
              <button
                type="button"
                className="btn small"
                aria-label={`${w.end} ${nameOf(session)}`}
                disabled={end.isPending}
                onClick={() => end.mutate(session.id)}
              >
                {w.end}
              </button>
            )}
          </>
        )}
      />
    </SettingsSheet>
  )
}
