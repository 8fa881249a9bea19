import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { dayAndTime } from '../../times.ts'
import { Section } from './section.tsx'
import { words } from './words.ts'

const fields = ['nextStep', 'openQuestions', 'branch', 'files', 'commands'] as const

/** Where the last session that worked on the task stopped. */
export function LastCheckpoint({ checkpoint }: { checkpoint: TaskDetail['lastCheckpoint'] }) {
  if (!checkpoint) return null
  const lines = fields.flatMap((field) => {
    const value = checkpoint[field]
    const text = Array.isArray(value) ? value.join('\n') : value
    return text ? [{ field, text }] : []
  })
  return (
    <Section title={words.lastCheckpoint} n={words.savedBy(checkpoint.author.name, dayAndTime(checkpoint.at))}>
      <dl className="diff">
        {lines.map(({ field, text }) => (
          <div key={field} className="dr">
            <dt className="soft">{words.checkpointFields[field]}</dt>
            <dd className="asis">{text}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
