/**
 * The keys of a task on a page whose rows name tasks without showing them as a list of tasks: they act on the task with
 * the focus, else on the one that is open beside the page.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { toast } from '../../components/toasts.tsx'
import { useCommands } from '../../shortcuts.ts'
import { useCompleteListed } from '../tasks/pickers/complete-key.tsx'
import { COMPLETE_KEY, type PickerField, pickerFields, pickerKeys } from '../tasks/pickers/field.ts'
import { LazyFieldPicker, loadPickerAhead } from '../tasks/pickers/lazy-picker.tsx'
import { pressComplete, pressField, TASK_ROW } from '../tasks/pickers/press-field.ts'
import { words as pickerWords } from '../tasks/pickers/words.ts'
import { describePatch, taskQuery, useChangeTask } from './queries.ts'

interface OpenPicker {
  field: PickerField
  task: TaskDetail
  anchor: Element
}

/** Returns the row or link with the focus, and the key of its task. */
function focusedTask(): { key: string; anchor: Element } | undefined {
  const anchor = document.activeElement?.closest(TASK_ROW)
  const key = anchor?.querySelector('.key, .tkey')?.textContent
  return anchor && key ? { key, anchor } : undefined
}

export function TaskKeys() {
  const cache = useQueryClient()
  const [picking, setPicking] = useState<OpenPicker>()
  const listed = useCompleteListed()
  useEffect(loadPickerAhead, [])
  const pick = async (field: PickerField) => {
    const focused = focusedTask()
    if (!focused) return pressField(field)
    try {
      const task = await cache.fetchQuery(taskQuery(focused.key))
      if (task.can.update === true) setPicking({ field, task, anchor: focused.anchor })
      else toast({ title: focused.key, text: task.can.update.detail, bad: true })
    } catch (error) {
      toast({ title: focused.key, text: (error as Error).message, bad: true })
    }
  }
  const complete = () => {
    const focused = focusedTask()
    if (focused) listed.complete(focused.key, focused.anchor)
    else pressComplete()
  }
  const applies = () => focusedTask() !== undefined
  useCommands([
    ...pickerFields.map((field) => ({
      keys: pickerKeys[field],
      label: pickerWords.fields[field],
      scope: 'list' as const,
      applies,
      run: () => void pick(field),
    })),
    { keys: COMPLETE_KEY, label: pickerWords.complete, scope: 'list', applies, run: complete },
  ])
  return (
    <>
      {listed.popover}
      {picking && <FocusedPicker key={picking.task.id} {...picking} onClose={() => setPicking(undefined)} />}
    </>
  )
}

function FocusedPicker({ field, task: before, anchor, onClose }: OpenPicker & { onClose(): void }) {
  const cache = useQueryClient()
  const task = cache.getQueryData(taskQuery(before.key).queryKey) ?? before
  const { mutateAsync } = useChangeTask(task)
  return (
    <LazyFieldPicker
      field={field}
      anchor={anchor}
      items={[task]}
      onChange={(change, said) =>
        void mutateAsync(describePatch(change, said)).catch((error: Error) =>
          toast({ title: task.key, text: error.message, bad: true }),
        )
      }
      onClose={onClose}
    />
  )
}
