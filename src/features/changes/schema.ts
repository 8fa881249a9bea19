import { Type } from '@sinclair/typebox'
import {
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  type Static,
  text,
} from '../../schema.ts'
import { fieldNames } from './fields.ts'

export const Change = object({
  id: id(),
  label: text(2000, { example: 'TUT-42: priority High' }),
  tasks: int({ description: 'How many tasks it changed', example: 1 }),
  state: oneOf(['running', 'done', 'stopped', 'undoing', 'undone'], {
    description: 'running and undoing: a job is at work on it',
    example: 'done',
  }),
  createdAt: instant(),
  expiresAt: instant({ description: 'It can be undone until then', example: '2026-11-15T10:30:00.000Z' }),
  undoneAt: nullable(instant()),
})
export type Change = Static<typeof Change>

const count = (description: string, example: number) => int({ description, example })
export const ChangeProgress = object({
  ...Change.properties,
  running: bool({ description: 'A job changes the tasks, or undoes the change' }),
  total: count('How many tasks it covers', 500),
  done: count('How many tasks it has changed', 120),
  refused: count('How many tasks could not be changed', 2),
  restored: count('How many of them an undo has gone through', 0),
  problems: Type.Array(
    object({
      id: id(),
      detail: text(5000, { example: 'TUT-42 cannot become done: it waits for TUT-41.' }),
    }),
    { description: 'The first 20 tasks that could not be changed, and why' },
  ),
  stoppedBecause: nullable(text(500, { description: 'Why it ended before all tasks were changed' })),
})
export type ChangeProgress = Static<typeof ChangeProgress>
export const ChangePage = pageOf(Change)
export type ChangePage = Static<typeof ChangePage>
export const ChangeQuery = object({
  ...paging('createdAt'),
  recent: optional(
    bool({
      description: 'Only changes of this login session or API key in the last 10 minutes that are not undone',
    }),
  ),
})
export type ChangeQuery = Static<typeof ChangeQuery>

const fields = Type.Array(oneOf(fieldNames, { example: 'priority' }))
const task = {
  id: id(),
  key: nullable(text(20, { description: 'null: you no longer see the task', example: 'TUT-42' })),
}
export const Undone = object({
  ...Change.properties,
  restored: Type.Array(object({ ...task, fields }), {
    description: 'Tasks, with the fields that have their former value',
  }),
  kept: Type.Array(object({ ...task, fields, reason: text(5000, { example: 'It was changed again meanwhile.' }) }), {
    description: 'Tasks, with the fields that could not be restored, and why',
  }),
})
export type Undone = Static<typeof Undone>
