import type { Conflict } from '../../../features/sync/schema.ts'
import { agoLabel } from '../../lib/times.ts'
import { count } from '../../words.ts'

/** Tells the conflicts of a page apart. */
const about = ({ entity, field, device }: Conflict, name: string) =>
  [entity, name, field, device.name].filter(Boolean).join(', ')

export const words = {
  title: 'Sync conflicts',
  intro: 'Changes made offline on a device while someone else changed the same field.',
  n: (n: number) => count(n, 'conflict'),
  none: 'No conflicts',
  noneText: 'Your devices are in sync with the server. Changes that cannot be merged appear here.',
  terminal: 'From a terminal',
  command: 'tutti sync',
  more: 'Show more',
  from: (device: string, time: string) => `From ${device}, ${agoLabel(time)}.`,
  gone: 'a record that you cannot see',
  kinds: {
    field: (field: string) => `Both sides changed ${field}.`,
    deleted: () => 'Deleted on the server, changed on the device.',
    delete: () => 'Changed on the server, deleted on the device.',
  },
  about,
  values: (conflict: Conflict, name: string) => `Values: ${about(conflict, name)}`,
  base: 'Before',
  server: 'On the server now',
  mine: 'On the device',
  empty: 'empty',
  choices: {
    field: { server: 'Keep the server’s value', mine: 'Use the device’s value' },
    deleted: { server: 'Leave it deleted', mine: 'Restore it with the change' },
    delete: { server: 'Keep it', mine: 'Delete it' },
  },
  edit: 'Enter another value',
  value: 'Value',
  save: 'Save this value',
  cancel: 'Cancel',
  resolved: (title: string) => `Resolved: ${title}`,
} as const
