/** Toasts. The component that shows them is loaded with the first toast, because few visits need one. */
import { Suspense, useState, useSyncExternalStore } from 'react'
import { lazy } from '../lib/lazy.ts'
import type ToastList from './toast-list.tsx'
import type { ShownToasts, ToastText } from './toast-list.tsx'

const waiting: ToastText[] = []
let shown: ShownToasts | undefined
const listeners = new Set<() => void>()

export function toast(message: ToastText): void {
  if (shown) shown.add(message)
  else waiting.push(message)
  for (const tell of listeners) tell()
}

/** Removes a toast that stays. */
export function closeToast(id: string): void {
  const place = waiting.findIndex((message) => message.id === id)
  if (place >= 0) waiting.splice(place, 1)
  shown?.close(id)
}

/** Closes the toasts about an older version of the record. */
export const closeOlderToasts = (recordId: string, version: number): void => shown?.closeOlder(recordId, version)

/** Passes waiting and later toasts to the list, until it is unmounted. */
function drain(to: ShownToasts): () => void {
  shown = to
  for (const message of waiting.splice(0)) to.add(message)
  return () => {
    shown = undefined
  }
}

type List = typeof ToastList
let loaded: List | undefined

/** Loads the code ahead, so that a toast is shown without a pause. */
export async function loadToastList(): Promise<{ default: List }> {
  const script = await import('./toast-list.tsx')
  loaded = script.default
  return script
}
const WaitingList = lazy(loadToastList)
const subscribe = (tell: () => void) => {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

export function Toasts() {
  const wanted = useSyncExternalStore(subscribe, () => shown !== undefined || waiting.length > 0)
  return wanted ? <ShownList /> : null
}

function ShownList() {
  // `lazy` waits for a promise, even if the script is there.
  const [List] = useState(() => loaded ?? WaitingList)
  return (
    <Suspense>
      <List drain={drain} />
    </Suspense>
  )
}
