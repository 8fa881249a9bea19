/** The values that a change replaced, before and after it. */

import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { dayAndTime } from '../../lib/times.ts'
import { capitalize, statusNames } from '../../words.ts'
import { words } from './words.ts'

type Change = Timeline['events'][number]['changes'][number]

/** Returns a value as people read it: `in_review` is "In review". */
function shownValue(field: string, value: string | null): string {
  if (value === null) return words.empty
  if (field === 'status') return statusNames[value as Status] ?? capitalize(value.replaceAll('_', ' '))
  if (field === 'dueAt') return dayAndTime(value)
  return field === 'priority' ? capitalize(value) : value
}

export const ReplacedValues = ({ changes }: { changes: readonly Change[] }) => (
  <table className="tbl replaced">
    <caption className="h3">{words.replaced}</caption>
    <thead className="hide">
      <tr>
        <th scope="col">{words.changes}</th>
        <th scope="col">{words.earlier}</th>
        <th scope="col">{words.later}</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(({ field, before, after }) => (
        <tr key={field}>
          <th scope="row">{words.fields[field] ?? capitalize(field)}</th>
          <td>
            <del>{shownValue(field, before)}</del>
          </td>
          <td>
            <ins>{shownValue(field, after)}</ins>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
