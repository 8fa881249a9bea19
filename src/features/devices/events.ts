import { defineEvent, text } from '../../events/catalogue.ts'
import { nullable } from '../../schema.ts'

const ofDevice = { kind: 'device', feed: 'access' } as const
const decidedEvent = { ...ofDevice, data: { clientName: text, ip: nullable(text) } } as const

export const deviceClaimed = defineEvent('device.claimed', {
  ...ofDevice,
  description: 'A user entered the code of a device',
  words: () => 'entered the code of a device',
})
export const deviceApproved = defineEvent('device.approved', {
  ...decidedEvent,
  description: 'A user approved a device',
  words: (_, { clientName }) => `approved the device ${clientName}`,
})
export const deviceDenied = defineEvent('device.denied', {
  ...decidedEvent,
  description: 'A user refused a device',
  words: (_, { clientName }) => `refused the device ${clientName}`,
})
