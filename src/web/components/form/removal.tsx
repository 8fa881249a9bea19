/** Asks before an item is removed, and removes it. */
import { type ReactNode, useState } from 'react'
import { Confirm } from './confirm.tsx'

/** What the dialog needs of the mutation that removes. */
interface Change<Input> {
  mutate(input: Input, options: { onSuccess(): void }): void
  reset(): void
  isPending: boolean
  error: Error | null
}

interface Asked<Input> {
  /** What the mutation is called with. */
  input: Input
  title: string
  text: string
  verb: string
  cancel: string
  /** Called when the item is removed, after the dialog has closed. */
  onRemoved?(): void
}

/** Returns how to ask about an item, and the dialog, which is null while nothing is asked. */
export function useRemoval<Item, Input>(
  change: Change<Input>,
  about: (item: Item) => Asked<Input>,
): [ask: (item: Item) => void, dialog: ReactNode] {
  const [item, setItem] = useState<Item>()
  const ask = (next: Item) => {
    // Clear the error of another item.
    change.reset()
    setItem(() => next)
  }
  if (item === undefined) return [ask, null]
  const { input, title, text, verb, cancel, onRemoved } = about(item)
  const close = () => setItem(undefined)
  const onSuccess = () => {
    close()
    onRemoved?.()
  }
  const dialog = (
    <Confirm
      title={title}
      verb={verb}
      cancel={cancel}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(input, { onSuccess })}
      onClose={close}
    >
      <p>{text}</p>
    </Confirm>
  )
  return [ask, dialog]
}
