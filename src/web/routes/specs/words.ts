import type { SpecItem } from '../../../features/specs/schema.ts'

export const words = {
  title: 'Specs',
  create: 'New spec',
  find: 'Find in specs',
  status: 'status',
  project: 'project',
  none: 'No specs yet',
  noneText: 'A spec describes how something must work. Every change creates a version that you can still read.',
  command: 'tutti specs create "Folder lock" --file lock.md',
  noMatch: 'No spec matches these filters.',
  version: (n: number) => `version ${n}`,
} as const

export const statusNames: Record<SpecItem['status'], string> = {
  draft: 'Draft',
  review: 'In review',
  approved: 'Approved',
  archived: 'Archived',
}
/** Each status has its word; the colour only repeats it. */
export const statusFlags: Record<SpecItem['status'], string> = {
  draft: 'flag',
  review: 'flag info',
  approved: 'flag good',
  archived: 'flag',
}
