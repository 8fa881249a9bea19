import type { Source } from '../search/source.ts'
import { epics, stories } from './table.ts'

export const storySources: Source[] = [
  { kind: 'epic', table: epics, title: epics.title, text: epics.description },
  { kind: 'story', table: stories, title: stories.title, text: stories.description },
]
