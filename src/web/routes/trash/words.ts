import { agoLabel } from '../../lib/times.ts'
export const words = {
  title: 'Trash',
  none: 'No deleted records',
  noneText: 'Records that you delete stay here for 24 hours. Team admins can restore any record for 30 days.',
  terminal: 'From a terminal',
  command: 'tutti trash list',
  noMatch: 'No deleted records of this kind.',
  kind: 'Kind',
  all: 'All',
  restore: 'Restore',
  restoreOne: (title: string) => `Restore ${title}`,
  restored: (title: string) => `Restored ${title}`,
  open: 'Open',
  deleted: (name: string, time: string) => `deleted by ${name} ${agoLabel(time)}`,
} as const
