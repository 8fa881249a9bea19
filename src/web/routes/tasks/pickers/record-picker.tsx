/** Finds a task or a story by its title or key. The server searches; the caret does not wait for it. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Status } from '../../../../records/task-states.ts'
import { ok, search } from '../../../api.ts'
import { StatusGlyph } from '../../../components/glyphs.tsx'
import { filterOptions } from '../../../components/picker/match.ts'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker, type PickerProps } from '../../../components/picker/picker.tsx'
import { words } from './words.ts'

const foundQuery = (kind: 'task' | 'story', projectId: string | undefined, q: string) =>
  queryOptions({
    queryKey: ['suggestions', kind, projectId, q],
    queryFn: async () =>
      (
        await ok(
          search.search.suggestions.get({
            query: { kinds: kind, limit: 10, ...(q && { q }), ...(projectId && { projectId }) },
          }),
        )
      ).items,
    placeholderData: keepPreviousData,
  })

interface Props
  extends Pick<
    PickerProps,
    'anchor' | 'action' | 'subject' | 'verb' | 'toggles' | 'onClose' | 'onFocusLost' | 'early'
  > {
  kind: 'task' | 'story'
  /** Only those of this project. */
  projectId?: string
  /** Ids that are not shown, such as that of the task itself. */
  without: readonly string[]
  /** Shown before the found ones while nothing is typed: the current ones, and how to choose none. */
  first?: readonly PickerOption[]
  /** Why a found record cannot be chosen. */
  refusal?(id: string): string | undefined
  onChoose(value: string, label: string): void
}

export default function RecordPicker({ kind, projectId, without, first = [], refusal, onChoose, ...picker }: Props) {
  const [text, setText] = useState('')
  const { data = [], error, isPending, isPlaceholderData } = useQuery(foundQuery(kind, projectId, text.trim()))
  const found: PickerOption[] = data
    .filter(({ id, key }) => !without.includes(id) && !first.some(({ value }) => value === id || value === key))
    .map(({ id, key, title, status }) => ({
      value: id,
      label: kind === 'task' ? `${key} ${title}` : title,
      glyph: kind === 'task' && status ? <StatusGlyph status={status as Status} /> : undefined,
      refused: refusal?.(id),
    }))
  // What was found for the text before may not fit what is typed now.
  const fitting = isPlaceholderData ? filterOptions(found, text) : found
  const options = text.trim() === '' ? [...first, ...fitting] : fitting
  const nothing: ReactNode = error ? error.message : isPending ? words.loading : words.noneFound
  return (
    <Picker
      {...picker}
      placeholder={words.find}
      options={options}
      filtered
      nothing={nothing}
      onText={setText}
      onChoose={(value) => onChoose(value, options.find((option) => option.value === value)?.label ?? '')}
    />
  )
}
