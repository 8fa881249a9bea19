import { bool, instant, int, nullable, object, oneOf, optional, type Static, text, title, url } from '../../schema.ts'

const clientName = title(100, { example: 'tutti on laptop', description: 'Name that the device gives itself' })
const userCode = text(40, {
  minLength: 1,
  example: 'BCDF-GHJK',
  description: 'As shown on the device; case and dash are ignored',
})

export const DeviceStart = object({ clientName: optional(clientName) })
export type DeviceStart = Static<typeof DeviceStart>

export const DeviceStarted = object({
  deviceCode: text(43, { description: 'Secret of the device, for polling', example: 'qL9fbyDq0pZ1…' }),
  userCode: text(9, { description: 'For the user to enter', example: 'BCDF-GHJK' }),
  verificationUri: url({ example: 'https://tutti.example.com/device' }),
  verificationUriComplete: url({ example: 'https://tutti.example.com/device?code=BCDF-GHJK' }),
  expiresIn: int({ example: 600, description: 'Seconds' }),
  interval: int({ example: 5, description: 'Seconds to wait between polls' }),
})
export type DeviceStarted = Static<typeof DeviceStarted>

export const DevicePoll = object({ deviceCode: text(200, { minLength: 1, example: 'qL9fbyDq0pZ1…' }) })
export type DevicePoll = Static<typeof DevicePoll>

export const DeviceRef = object({ userCode })
export type DeviceRef = Static<typeof DeviceRef>

export const DeviceDecision = object({ userCode, deny: optional(bool({ description: 'Refuse it' })) })
export type DeviceDecision = Static<typeof DeviceDecision>

export const Device = object({
  clientName: text(100, { example: 'tutti on laptop' }),
  userAgent: nullable(text(300, { example: 'tutti/0.1.0' })),
  ip: nullable(text(64, { example: '192.0.2.7' })),
  createdAt: instant(),
  expiresAt: instant(),
  status: oneOf(['pending', 'approved', 'denied', 'used']),
})
export type Device = Static<typeof Device>
