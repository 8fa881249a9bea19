import { useMutation, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { Status } from '../../../features/sync/schema.ts'
import { meQuery } from '../../account/session.ts'
import { accounts, ok, readFile, sync } from '../../api.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { Confirm } from '../../components/form/confirm.tsx'
import { Field } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { saveFile } from '../../lib/save-file.ts'
import { ago } from '../../lib/times.ts'
import { ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { devicesQuery, useSettingsChange } from './queries.ts'
import { titles, dataWords as w, words } from './words.ts'

export const Settings = () => (
  <SettingsSheet title={titles.data}>
    <Export />
    <Devices />
    <Delete />
  </SettingsSheet>
)

function Export() {
  const { team } = useRouteContext({ from: '/inside' })
  const load = useMutation({
    mutationFn: () => readFile('/api/sync/export?format=ndjson'),
    onSuccess: (file) => saveFile(file, `${team.slug}.ndjson`),
  })
  return (
    <Section title={w.export}>
      <div className="stack">
        <p className="soft">{w.exportText}</p>
        {load.error && <ProblemBox error={load.error} />}
        <p>
          <button type="button" className="btn" disabled={load.isPending} onClick={() => load.mutate()}>
            {load.isPending ? w.downloading : w.download}
          </button>
        </p>
      </div>
    </Section>
  )
}

type Device = Status['devices'][number]

/** The devices that keep a copy, and the way to what they could not agree on. */
function Devices() {
  const { data, error } = useQuery(devicesQuery)
  const remove = useSettingsChange((id: string) => ok(sync.sync.devices({ id }).delete()))
  const [ask, asked] = useRemoval(remove, ({ id, name }: Device) => ({
    input: id,
    title: w.removeTitle(name),
    text: w.removeText,
    verb: w.removeDevice,
    cancel: words.cancel,
  }))
  return (
    <Section title={w.devices}>
      <div className="stack">
        <p className="soft">{w.devicesText}</p>
        {data?.devices.length === 0 ? (
          <CopyLine label={w.noDevices} text={w.devicesLine} />
        ) : (
          <ItemList
            items={data?.devices}
            error={error}
            label={w.devices}
            item={(device) => (
              <>
                <ItemLine name={device.name} facts={[device.platform, w.deviceSeen(ago(device.lastSeenAt))]} />
                <RowButton raised label={w.removeDevice} name={w.removeOf(device.name)} onClick={() => ask(device)} />
              </>
            )}
          />
        )}
        <p>
          <Link className="btn" to="/sync/conflicts">
            {w.conflicts(data?.openConflicts ?? 0)}
          </Link>
        </p>
      </div>
      {asked}
    </Section>
  )
}

function Delete() {
  const { email } = useSuspenseQuery(meQuery).data
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const remove = useMutation({
    mutationFn: () => ok(accounts.auth.account.delete({ confirm: typed.trim() })),
    onSuccess: () => location.assign('/login'),
  })
  return (
    <Section title={w.delete}>
      <div className="stack">
        <p className="soft">{w.deleteText}</p>
        <p>
          <button type="button" className="btn danger" onClick={() => setAsking(true)}>
            {w.deleteAct}
          </button>
        </p>
      </div>
      {isAsking && (
        <Confirm
          title={w.delete}
          verb={w.deleteForEver}
          cancel={words.cancel}
          busy={remove.isPending || typed.trim() !== email}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>{w.deleteText}</p>
          <Field label={w.type(email)} value={typed} autoComplete="off" onText={setTyped} />
        </Confirm>
      )}
    </Section>
  )
}
