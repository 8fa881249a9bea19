import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { connections, ok } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { connectedAccountsQuery, signInProvidersQuery, useSettingsChange } from './queries.ts'
import { titles, accountWords as w } from './words.ts'

/** Returns why connecting an account failed, which its page tells behind the #, and removes it from the address. */
function reasonOf(): string | undefined {
  const reason = new URLSearchParams(location.hash.slice(1)).get('error')
  if (!reason) return undefined
  history.replaceState(history.state, '', location.pathname + location.search)
  return w.failed[reason] ?? w.failedOther
}

export function Settings() {
  const { data, error } = useQuery(connectedAccountsQuery)
  const providers = useQuery(signInProvidersQuery).data?.oauth
  const [failed] = useState(reasonOf)
  const disconnect = useSettingsChange((provider: 'github' | 'google' | 'oidc') =>
    ok(connections.settings['connected-accounts']({ provider }).delete()),
  )
  const left = providers?.filter((provider) => !data?.some((account) => account.provider === provider)) ?? []
  const isNone = providers?.length === 0 && data?.length === 0
  return (
    <SettingsSheet title={titles.accounts} about={isNone ? w.none : w.about}>
      {failed && <ProblemBox error={new Error(failed)} />}
      {disconnect.error && <ProblemBox error={disconnect.error} />}
      {!isNone && (
        <ItemList
          items={data}
          error={error}
          label={titles.accounts}
          item={({ provider, email, name }) => (
            <>
              <ItemLine name={w.providers[provider]} facts={[email ?? name]} />
              <button
                type="button"
                className="btn small"
                disabled={disconnect.isPending}
                onClick={() => disconnect.mutate(provider)}
              >
                {w.disconnect}
              </button>
            </>
          )}
        />
      )}
      <p className="row wrap">
        {left.map((provider) => (
          <a key={provider} className="btn" href={`/api/auth/oauth/${provider}?link=1&returnTo=/settings/accounts`}>
            {w.connect(w.providers[provider])}
          </a>
        ))}
      </p>
    </SettingsSheet>
  )
}
