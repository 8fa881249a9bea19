import { useQuery } from '@tanstack/react-query'
import type { PreferencesAnswer, PreferencesPatch } from '../../../features/users/schema.ts'
import { storeTheme, type Theme } from '../../account/theme.ts'
import { accounts, ok } from '../../api.ts'
import { optionsOf, Select } from '../../components/form/fields.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { SettingsSheet } from './parts.tsx'
import { preferencesQuery, useSettingsChange } from './queries.ts'
import { titles, preferenceWords as w, words } from './words.ts'

/** Each choice is saved at once. */
export function Settings() {
  const { data, error } = useQuery(preferencesQuery)
  const save = useSettingsChange((patch: PreferencesPatch) => ok(accounts.settings.preferences.patch(patch)))
  return (
    <SettingsSheet title={titles.preferences}>
      <LoadStatus of={{ data, error }} />
      {save.error && <ProblemBox error={save.error} />}
      {data && <Choices now={data} onChange={save.mutate} />}
      <p className="soft t12" role="status">
        {save.isSuccess && words.saved}
      </p>
    </SettingsSheet>
  )
}

function Choices({ now, onChange }: { now: PreferencesAnswer; onChange(patch: PreferencesPatch): void }) {
  return (
    <div className="stack s4 setform">
      <Select
        label={w.theme}
        value={now.theme}
        options={optionsOf(w.themes)}
        onChange={(event) => {
          const theme = event.currentTarget.value as Theme
          storeTheme(theme)
          onChange({ theme })
        }}
      />
      <Select
        label={w.weekStart}
        value={now.weekStart}
        options={optionsOf(w.weekStarts)}
        onChange={(event) => onChange({ weekStart: event.currentTarget.value as PreferencesAnswer['weekStart'] })}
      />
      <Select
        label={w.density}
        value={now.density}
        options={optionsOf(w.densities)}
        onChange={(event) => onChange({ density: event.currentTarget.value as PreferencesAnswer['density'] })}
      />
      <ToggleField
        label={w.presence}
        is={now.presence === 'on'}
        onChange={(on) => onChange({ presence: on ? 'on' : 'off' })}
      />
      <ToggleField
        label={w.shortcuts}
        hint={w.shortcutsHint}
        is={now.shortcuts === 'on'}
        onChange={(on) => onChange({ shortcuts: on ? 'on' : 'off' })}
      />
    </div>
  )
}

interface ToggleProps {
  label: string
  hint?: string
  is: boolean
  onChange(is: boolean): void
}

export const ToggleField = ({ label, hint, is, onChange }: ToggleProps) => (
  <label className="row setcheck">
    <input type="checkbox" checked={is} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>
      {label}
      {hint && <small className="soft t12 block">{hint}</small>}
    </span>
  </label>
)
