import type { ChangeProgress } from '../../../src/features/changes/schema.ts'
import { priorities, statuses } from '../../../src/records/task-states.ts'
import type { Client } from '../../api/client.ts'
import { pathTo, withQuery } from '../../api/reference.ts'
import { isTerminal } from '../../terminal/environment.ts'
import { pluralize, printNote, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { choice, count, type Field, listChange, many, outputOf, text, time, type Verb } from '../noun.ts'
import type { Page } from '../resource.ts'

const POLL_MS = 400

/** Waits until the server has changed or restored all tasks of a change. Reports how far it is on a terminal. */
export async function waitForChange(client: Client, id: string): Promise<ChangeProgress> {
  let shown = -1
  for (;;) {
    const progress = await client.get<ChangeProgress>(pathTo('/api/changes/:id', id))
    const at = progress.state === 'undoing' ? progress.restored : progress.done + progress.refused
    if (at !== shown && isTerminal(2)) printNote(`${at} of ${progress.total}`)
    shown = at
    if (!progress.running) return progress
    await Bun.sleep(POLL_MS)
  }
}

/** Turns `status=todo` and `ready=true` into a filter of the API. */
function parseFilters(list: readonly string[]): Record<string, string | boolean> {
  return Object.fromEntries(
    list.map((one) => {
      const [, key, value] = /^(\w+(?:\.\w+)?)=(.*)$/s.exec(one) ?? []
      if (!key || value === undefined)
        throw new Refusal(`${JSON.stringify(one)} is not a filter. Write it as key=value, such as status=todo.`)
      return [key, value === 'true' || value === 'false' ? value === 'true' : value]
    }),
  )
}

const always = (field: Field): Field => ({ ...field, clears: 'always' })

/** The verb that changes all tasks that match. */
export const changeVerb: Verb = {
  name: 'change',
  about: 'Change all tasks that match filters, at most 5000; undo it with: tutti undo',
  inProject: true,
  online: true,
  fields: [
    many(
      '--where <filter>',
      'filter of the tasks to change, as key=value: status, priority, label, assignee …',
      'where',
    ),
    count('--expect <number>', 'change nothing if another number of tasks matches'),
    choice('--status <status>', statuses),
    choice('--priority <priority>', priorities),
    always(text('-a, --assignee <who>', 'me, an e-mail address or an agent; "none" clears it')),
    listChange('--add-label <label>', 'label to add', 'addLabels'),
    listChange('--remove-label <label>', 'label to remove', 'removeLabels'),
    always(time('--due <time>', 'due date ("none" clears it)', 'dueAt')),
    always(count('--estimate <number>', 'estimated effort; "none" clears it')),
  ],
  examples: [
    'tutti tasks change --where label=offline --where status=todo --priority high',
    'tutti tasks change --where assignee=none --expect 12 --assignee me',
  ],
  run: async ({ client, fields: { where: filters, expect, ...change }, inProject }) => {
    if (!Array.isArray(filters)) throw new Refusal('Give at least one filter, such as --where status=todo.')
    if (Object.keys(change).length === 0) throw new Refusal('Nothing to change. Give a field, such as --priority high.')
    const where = { ...parseFilters(filters), ...(await inProject()) }
    const matching = async () =>
      (await client.get<Page<unknown>>(withQuery('/api/tasks', { ...where, limit: 1, total: true }))).total
    const wanted = expect ?? (await matching())
    if (wanted === 0) return { value: null, lines: [], note: 'No task matches.' }
    const begun = await client.post<ChangeProgress>('/api/tasks/batch', { where, expect: wanted, change })
    const ended = await waitForChange(client, begun.id)
    return outputOf(
      ended,
      `${pluralize(ended.done, 'task')} changed${ended.refused > 0 ? `, ${ended.refused} not changed` : ''}.`,
      ...ended.problems.map(({ detail }) => safeLine(detail)),
      ended.stoppedBecause ? `Stopped: ${safeLine(ended.stoppedBecause)}` : undefined,
    )
  },
}
