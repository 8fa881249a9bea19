import { define, text } from '../../events/catalogue.ts'
import { nullable } from '../../schema.ts'

const ofDevice = { kind: 'device', told: 'access' } as const
const answered = { ...ofDevice, data: { clientName: text, ip: nullable(text) } } as const

export const deviceRequested = define('device.requested', {
  ...ofDevice,
  says: 'A device asked to be signed in',
  data: { clientName: text },
})
export const deviceClaimed = define('device.claimed', { ...ofDevice, says: 'Somebody typed the code of a device' })
export const deviceApproved = define('device.approved', { ...answered, says: 'Somebody signed a device in' })
export const deviceDenied = define('device.denied', { ...answered, says: 'Somebody refused a device' })
