import { useQuery } from '@tanstack/react-query'
import type { LoginSession } from '../../../features/accounts/schema.ts'
import { accounts, ok } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago } from '../../times.ts'
import { Items, Line, Page } from './parts.tsx'
import { programOf } from './program.ts'
import { sessionsQuery, useChange } from './queries.ts'
import { accountWords, titles, sessionWords as w } from './words.ts'

const nameOf = ({ device, userAgent }: LoginSession): string => device ?? programOf(userAgent ?? w.unknown)

const providers: Record<string, string> = accountWords.providers
const factsOf = (session: LoginSession) => [
  session.impersonated ? w.acting : w.by(providers[session.via] ?? session.via.replace('_', ' ')),
  session.ip ?? w.noAddress,
  session.current ? w.here : w.seen(ago(session.lastSeenAt)),
]

export function Settings() {
  const { data, error } = useQuery(sessionsQuery)
  const end = useChange(
    (id: string) => ok(accounts.settings.sessions({ id }).delete()),
    () => toast({ title: w.ended }),
  )
  return (
    <Page title={titles.sessions} about={w.about}>
      {end.error && <ProblemBox error={end.error} />}
      <Items
        items={data}
        error={error}
        label={titles.sessions}
        item={(session) => (
          <>
            <Line name={nameOf(session)} facts={factsOf(session)} />
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
    </Page>
  )
}
