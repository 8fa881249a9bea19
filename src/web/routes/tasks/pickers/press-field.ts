import type { PickerField } from './field.ts'

/** Opens the picker of a field where a task is shown in full: on its page, or beside a list. */
export const pressField = (field: PickerField): void =>
  document.querySelector<HTMLElement>(`.panel [data-field="${field}"]`)?.click()

/** Completes the task that is shown in full. A locked button gets the focus, and says why. */
export function pressComplete(): void {
  const button = document.querySelector<HTMLElement>('.panel [data-act="complete"]')
  button?.focus()
  button?.click()
}

/** Selects what names a task outside its lists: a row of the plan, or a link that shows its key. */
export const TASK_ROW = '[role=row]:has(.tkey), a[href^="/tasks/"]:has(.key)'
