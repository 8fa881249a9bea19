import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

/** Only the user of the device sees these events. */
const ofSync = { kind: 'sync_device', feed: 'access' } as const

export const syncRegistered = defineEvent('sync_device.registered', {
  ...ofSync,
  description: 'A device was registered for sync',
  data: { name: text, platform: text },
  words: (_, { name }) => `registered the device ${name} for sync`,
})
export const syncRemoved = defineEvent('sync_device.removed', {
  ...ofSync,
  description: 'A device was removed, and its credential revoked',
  data: { name: text },
  words: (_, { name }) => `removed the device ${name}`,
})
/** Written after the events of the change itself, so that a device receives the change no later than its receipt. */
export const syncApplied = defineEvent('sync_device.applied', {
  ...ofSync,
  description: 'The server accepted or rejected changes of a device; `mutations` are their ids',
  data: { mutations: texts },
  words: () => 'sent changes from a device',
})
export const syncConflicted = defineEvent('sync_device.conflicted', {
  ...ofSync,
  description: 'Changes of a device conflict with later changes on the server',
  data: { device: text, conflicts: number },
  words: () => 'sent changes from a device that conflict with later ones',
})
export const syncResolved = defineEvent('sync_device.resolved', {
  ...ofSync,
  description: 'A conflict was resolved',
  data: { entity: text, recordId: text, choice: text, field: optional(text) },
  words: () => 'resolved a conflict',
})
