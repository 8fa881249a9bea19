import { useState } from 'react'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useReportIssue } from './queries.ts'
import { words } from './words.ts'

type Priority = keyof typeof words.priorities
const priorities = Object.keys(words.priorities) as Priority[]

/** What is typed stays until the server has it. */
export function ReportDialog({ onClose }: { onClose(): void }) {
  const [key] = useState(newIdempotencyKey)
  const [priority, setPriority] = useState<Priority>('medium')
  const report = useReportIssue()
  const send = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    report.mutate(
      { title: text('title'), description: text('description'), priority, key },
      {
        onSuccess: ({ title }) => {
          toast({ title: words.sent, text: title })
          onClose()
        },
      },
    )
  }
  return (
    <Dialog title={words.report} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          send(new FormData(event.currentTarget))
        }}
      >
        <Field label={words.heading} name="title" required maxLength={200} />
        <TextArea label={words.description} name="description" required rows={6} maxLength={20_000} />
        <Select
          label={words.priority}
          value={priority}
          onChange={(event) => setPriority(event.currentTarget.value as Priority)}
          options={priorities.map((value) => ({ value: value, label: words.priorities[value] }))}
        />
        {report.error && <ProblemBox error={report.error} />}
        <span className="row">
          <span className="grow" />
          <button type="button" className="btn" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="btn main" disabled={report.isPending}>
            {words.send}
          </button>
        </span>
      </form>
    </Dialog>
  )
}
