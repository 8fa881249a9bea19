/** The fields of a checkpoint, on the pages of a task and of a session. */
import type { Checkpoint } from '../../features/sessions/schema.ts'
import { words } from '../words.ts'

const fields = ['nextStep', 'openQuestions', 'branch', 'files', 'commands', 'checks'] as const

export function CheckpointFields({ checkpoint }: { checkpoint: Checkpoint }) {
  const filled = fields.flatMap((field) => {
    const value = checkpoint[field]
    const text = Array.isArray(value) ? value.join('\n') : value
    return text ? [{ field, text }] : []
  })
  return (
    <dl className="diff">
      {filled.map(({ field, text }) => (
        <div key={field} className="dr">
          <dt className="soft">{words.checkpointFields[field]}</dt>
          <dd className="asis">{text}</dd>
        </div>
      ))}
    </dl>
  )
}
