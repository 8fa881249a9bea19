import { define, text } from '../../events/catalogue.ts'
import { nullable } from '../../schema.ts'

const ofDevice = { kind: 'device', feed: 'access' } as const
const answered = { ...ofDevice, data: { clientName: text, ip: nullable(text) } } as const

export const deviceClaimed = define('device.claimed', {
  ...ofDevice,
  description: 'A user entered the code of a device',
})
export const deviceApproved = define('device.approved', { ...answered, description: 'A user approved a device' })
export const deviceDenied = define('device.denied', { ...answered, description: 'A user refused a device' })
