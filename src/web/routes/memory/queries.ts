import { queryOptions } from '@tanstack/react-query'
import { memories, ok } from '../../api.ts'

export const memoryQuery = (id: string) =>
  queryOptions({ queryKey: ['memory', id], queryFn: () => ok(memories.memories({ id }).get()) })
