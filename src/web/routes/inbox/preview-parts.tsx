/** What the previews of records share: how they load, and the line in which the reader answers. */
import type { ReactNode } from 'react'
import type { Notification } from '../../../features/notifications/schema.ts'
import { AfterAMoment, ProblemBox, Skeleton } from '../../components/states.tsx'

export interface PreviewProps {
  notification: Notification
  /** Id of the record. */
  id: string
  /** The reader did what was asked of them. */
  onSettled(): void
}

interface LoadedProps<T> {
  found: { data: T | undefined; error: Error | null }
  children(record: T): ReactNode
}

/** Shows a record once it is there; until then a skeleton, or why it is not. */
export function LoadedRecord<T>({ found: { data, error }, children }: LoadedProps<T>) {
  if (data !== undefined) return children(data)
  if (error)
    return (
      <div className="inbody">
        <ProblemBox error={error} />
      </div>
    )
  return (
    <AfterAMoment>
      <div className="inbody">
        <Skeleton />
      </div>
    </AfterAMoment>
  )
}

interface FieldProps {
  label: string
  text: string
  onText(text: string): void
  onSend(): void
}

/** A line for an answer that grows with it; ⌘↵ sends. */
export const AnswerField = ({ label, text, onText, onSend }: FieldProps) => (
  <textarea
    className="input grow say"
    rows={text.includes('\n') || text.length > 80 ? 3 : 1}
    aria-label={label}
    placeholder={label}
    maxLength={10_000}
    value={text}
    onChange={(event) => onText(event.currentTarget.value)}
    onKeyDown={(event) => {
      if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) onSend()
    }}
  />
)
