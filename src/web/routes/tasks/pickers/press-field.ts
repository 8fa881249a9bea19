import type { PickerField } from './field.ts'

/** Opens the picker of a field where a task is shown in full: on its page, or beside a list. */
export const pressField = (field: PickerField): void =>
  document.querySelector<HTMLElement>(`.panel [data-field="${field}"]`)?.click()
