/** The picker of a field, loaded ahead: once its script is there, it opens with the key, without a pause. */
import { type ComponentProps, Suspense, useState } from 'react'
import { EarlyKeyField, type EarlyKeys } from '../../../components/picker/early-keys.ts'
import { loadToastList } from '../../../components/toasts.tsx'
import { whenIdle } from '../../../lib/idle.ts'
import { lazy } from '../../../lib/lazy.ts'
import type FieldPicker from './field-picker.tsx'

type Loaded = typeof FieldPicker
let loaded: Loaded | undefined

async function load(): Promise<{ default: Loaded }> {
  const script = await import('./field-picker.tsx')
  loaded = script.default
  return script
}
const WaitingPicker = lazy(load)

/** A failure here is harmless: opening the picker tries again. */
export const loadPickerAhead = (): (() => void) =>
  whenIdle(() => {
    load()
      // The progress of a change, and the messages of changes that are made without a connection.
      .then(loadToastList)
      .catch(() => undefined)
  })

export function LazyFieldPicker(props: ComponentProps<Loaded>) {
  // React's `lazy` waits for a promise even if the script is there.
  const [Picker] = useState(() => loaded ?? WaitingPicker)
  const [early] = useState<EarlyKeys>({ text: '', enter: false })
  return (
    <Suspense fallback={<EarlyKeyField keys={early} onClose={props.onClose} />}>
      <Picker {...props} early={early} />
    </Suspense>
  )
}
