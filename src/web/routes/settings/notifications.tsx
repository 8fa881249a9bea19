import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accounts, ok } from '../../api.ts'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { SettingsSheet } from './parts.tsx'
import { ToggleField } from './preferences.tsx'
import { Push } from './push.tsx'
import { preferencesQuery, useSettingsChange } from './queries.ts'
import { titles, notificationWords as w, words } from './words.ts'

export function Settings() {
  const { data, error } = useQuery(preferencesQuery)
  const save = useSettingsChange((email: boolean) =>
    ok(accounts.settings.preferences.patch({ notifications: { email } })),
  )
  return (
    <SettingsSheet title={titles.notifications}>
      <LoadStatus of={{ data, error }} />
      {save.error && <ProblemBox error={save.error} />}
      {data && <ToggleField label={w.mail} hint={w.mailHint} is={data.notifications.email} onChange={save.mutate} />}
      <Push />
      <p>
        {w.elsewhere} <Link to="/settings/integrations">{w.integrations}</Link>
      </p>
      <p className="soft t12" role="status">
        {save.isSuccess && words.saved}
      </p>
    </SettingsSheet>
  )
}
