import type { Trashed } from '../../../features/trash/schema.ts'
import { words } from './words.ts'

export const trashSearch = (search: Record<string, unknown>): { kind?: Trashed['kind'] } =>
  typeof search.kind === 'string' && search.kind in words.kinds ? { kind: search.kind as Trashed['kind'] } : {}
