/** Forms that are sent by a button, and what they hold when they are sent. */
import type { FormEvent, ReactNode } from 'react'
import { ProblemBox } from '../states.tsx'
import { Dialog } from './dialog.tsx'

/** Returns the parts of a list that someone typed, each once. */
export const splitList = (text: string, separator = ','): string[] =>
  [...new Set(text.split(separator).map((part) => part.trim()))].filter(Boolean)

export interface SentForm {
  element: HTMLFormElement
  /** The text of a field, without the spaces around it. */
  text(name: string): string
  /** The entries of a field with commas, or with one entry per line. */
  list(name: string, separator?: ',' | '\n'): string[]
  /** Whether a box is ticked. */
  has(name: string): boolean
}

function readForm(event: FormEvent<HTMLFormElement>): SentForm {
  event.preventDefault()
  const element = event.currentTarget
  const form = new FormData(element)
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return { element, text, list: (name, separator) => splitList(text(name), separator), has: (name) => form.has(name) }
}

interface Props {
  verb: string
  busy: boolean
  error: Error | null
  onSubmit(form: SentForm): void
  children: ReactNode
}

const SubmitForm = ({ verb, busy, error, onSubmit, children }: Props) => (
  <form className="stack s4" onSubmit={(event) => onSubmit(readForm(event))}>
    {children}
    {error && <ProblemBox error={error} />}
    <button type="submit" className="btn main" disabled={busy}>
      {verb}
    </button>
  </form>
)

export const FormDialog = ({ title, onClose, ...form }: Props & { title: string; onClose(): void }) => (
  <Dialog title={title} open onClose={onClose}>
    <SubmitForm {...form} />
  </Dialog>
)
