import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Integration, IntegrationPut, Provider } from '../../../features/integrations/schema.ts'
import { integrations, ok } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field } from '../../components/form/fields.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago } from '../../lib/times.ts'
import { SecretOnce } from './keys.tsx'
import { Form, ItemLine, SettingsSheet } from './parts.tsx'
import { integrationsQuery, useSettingsChange } from './queries.ts'
import { titles, integrationWords as w, words } from './words.ts'

const codeHosts: readonly Provider[] = ['github', 'gitlab', 'gitea']
const providers: readonly Provider[] = [...codeHosts, 'slack', 'discord', 'webhook']

const put = ({ provider, ...body }: IntegrationPut & { provider: Provider }) =>
  ok(integrations.settings.integrations.user({ provider }).put(body))

export function Settings() {
  const { data, error } = useQuery(integrationsQuery)
  const [editing, setEditing] = useState<Provider>()
  const [signingKey, setSigningKey] = useState<string>()
  return (
    <SettingsSheet title={titles.integrations} about={w.about}>
      <LoadStatus of={{ data, error }} />
      {signingKey && (
        <>
          <p>{w.signingKey}</p>
          <SecretOnce text={signingKey} onStored={() => setSigningKey(undefined)} />
        </>
      )}
      {data && (
        <ul className="sheet" aria-label={titles.integrations}>
          {providers.map((provider) => (
            <li key={provider} className="setrow">
              <One
                provider={provider}
                saved={data.find((one) => one.provider === provider)}
                onEdit={() => setEditing(provider)}
              />
            </li>
          ))}
        </ul>
      )}
      {editing && (
        <Connect provider={editing} onClose={() => setEditing(undefined)} onKey={(key) => setSigningKey(key)} />
      )}
    </SettingsSheet>
  )
}

function One({ provider, saved, onEdit }: { provider: Provider; saved: Integration | undefined; onEdit(): void }) {
  const one = integrations.settings.integrations.user({ provider })
  const remove = useSettingsChange(() => ok<unknown>(one.delete()))
  const enable = useSettingsChange((enabled: boolean) => put({ provider, settings: { enabled } }))
  const test = useSettingsChange(
    () => ok(one.test.post()),
    ({ delivered, error }) => toast({ title: delivered ? w.tested : (error ?? ''), bad: !delivered }),
  )
  const refused = remove.error ?? enable.error ?? test.error
  const facts = saved && [
    w.connected(saved.last4),
    saved.settings.login,
    !saved.settings.enabled && w.off,
    saved.lastDeliveredAt && w.delivered(ago(saved.lastDeliveredAt)),
    saved.lastError,
  ]
  return (
    <>
      <ItemLine name={w.names[provider] ?? provider} facts={facts ?? []} />
      {refused && <ProblemBox error={refused} />}
      <span className="row wrap">
        {saved && (
          <>
            <button type="button" className="btn small quiet" disabled={test.isPending} onClick={() => test.mutate()}>
              {w.test}
            </button>
            <button
              type="button"
              className="btn small quiet"
              disabled={enable.isPending}
              onClick={() => enable.mutate(!saved.settings.enabled)}
            >
              {saved.settings.enabled ? w.disable : w.enable}
            </button>
            <button
              type="button"
              className="btn small quiet"
              disabled={remove.isPending}
              onClick={() => remove.mutate()}
            >
              {words.remove}
            </button>
          </>
        )}
        <button type="button" className="btn small" onClick={onEdit}>
          {saved ? w.replace : w.connect}
        </button>
      </span>
    </>
  )
}

interface ConnectProps {
  provider: Provider
  onClose(): void
  /** A webhook gets a key that is shown once. */
  onKey(key: string): void
}

function Connect({ provider, onClose, onKey }: ConnectProps) {
  const isCodeHost = codeHosts.includes(provider)
  const save = useSettingsChange(put, ({ signingKey }) => {
    if (signingKey) onKey(signingKey)
    onClose()
  })
  return (
    <Dialog title={w.names[provider] ?? provider} open onClose={onClose}>
      <Form
        verb={w.connect}
        busy={save.isPending}
        error={save.error}
        onSave={({ secret = '', url }) =>
          save.mutate({ provider, secret: secret.trim(), ...(url && { settings: { url: url.trim() } }) })
        }
      >
        {isCodeHost && provider !== 'github' && (
          <Field label={w.address} name="url" type="url" maxLength={2000} placeholder="https://git.example.com" />
        )}
        <Field
          label={isCodeHost ? w.token : w.hook}
          name="secret"
          type={isCodeHost ? 'password' : 'url'}
          required
          minLength={8}
          maxLength={2000}
          autoComplete="off"
        />
      </Form>
    </Dialog>
  )
}
