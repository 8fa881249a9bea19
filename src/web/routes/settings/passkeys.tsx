import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Passkey } from '../../../features/passkeys/schema.ts'
import { ok, passkeys, writeOptions } from '../../api.ts'
import { Field } from '../../components/form/fields.tsx'
import { InlineField } from '../../components/form/inline-edit.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago } from '../../lib/times.ts'
import { Form, ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { passkeysQuery, useSettingsChange } from './queries.ts'
import { titles, passkeyWords as w, words } from './words.ts'

/** Returns why this browser cannot make passkeys at this address, or undefined. */
function obstacle(): ReactNode {
  const { hostname } = location
  if (hostname === '127.0.0.1' || hostname === '[::1]') return <OtherAddress />
  if (!isSecureContext || /^[\d.]+$|^\[/.test(hostname)) return w.needHttps
  return typeof PublicKeyCredential === 'function' && 'parseCreationOptionsFromJSON' in PublicKeyCredential
    ? undefined
    : w.tooOld
}

function OtherAddress() {
  const [before, after] = w.named
  const address = Object.assign(new URL(location.href), { hostname: 'localhost' })
  return (
    <>
      {before} <a href={address.href}>{address.origin}</a> {after}
    </>
  )
}

/** The browser converts between JSON and the format of authenticators, and asks the person. */
async function register(name: string): Promise<Passkey> {
  const { sessionId, options } = await ok(passkeys.auth.passkey.register.begin.post())
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as object as PublicKeyCredentialCreationOptionsJSON,
  )
  const made = await navigator.credentials.create({ publicKey }).catch((error: Error) => {
    throw Object.hasOwn(w.failed, error.name) ? new Error(w.failed[error.name]) : error
  })
  const response = { ...(made as PublicKeyCredential).toJSON() }
  return ok(passkeys.auth.passkey.register.finish.post({ sessionId, name, response }))
}

export function Settings() {
  const { data, error } = useQuery(passkeysQuery)
  const remove = useSettingsChange((id: string) => ok(passkeys.settings.passkeys({ id }).delete()))
  const [ask, asked] = useRemoval(remove, ({ id, name }: Passkey) => ({
    input: id,
    title: w.confirm(name),
    text: w.confirmText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  const impossible = obstacle()
  return (
    <SettingsSheet title={titles.passkeys} about={impossible ?? w.about}>
      <ItemList
        items={data}
        error={error}
        label={titles.passkeys}
        item={(passkey) => <One passkey={passkey} onRemove={() => ask(passkey)} />}
      />
      {!impossible && <Add />}
      {asked}
    </SettingsSheet>
  )
}

function Add() {
  const add = useSettingsChange(register)
  return (
    <Section title={w.add}>
      <Form
        verb={w.add}
        busy={add.isPending}
        error={add.error}
        onSave={({ name = '' }, form) => add.mutate(name.trim(), { onSuccess: () => form.reset() })}
      >
        <Field label={words.name} name="name" required maxLength={100} placeholder={w.placeholder} />
      </Form>
    </Section>
  )
}

function One({ passkey, onRemove }: { passkey: Passkey; onRemove(): void }) {
  const [isRenaming, setRenaming] = useState(false)
  const rename = useSettingsChange((name: string) =>
    ok(passkeys.settings.passkeys({ id: passkey.id }).patch({ name }, writeOptions(passkey.version))),
  )
  const used = passkey.lastUsedAt ? words.used(ago(passkey.lastUsedAt)) : words.never
  return (
    <>
      {isRenaming ? (
        <InlineField
          label={words.name}
          value={passkey.name}
          maxLength={100}
          onSave={rename.mutate}
          onDone={() => setRenaming(false)}
        />
      ) : (
        <ItemLine name={passkey.name} facts={[used, passkey.backedUp && w.backedUp]} />
      )}
      {rename.error && <ProblemBox error={rename.error} />}
      <button type="button" className="btn small quiet" onClick={() => setRenaming(true)}>
        {w.rename}
      </button>
      <button type="button" className="btn small" aria-label={`${words.remove} ${passkey.name}`} onClick={onRemove}>
        {words.remove}
      </button>
    </>
  )
}
