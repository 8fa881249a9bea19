import { type Http, on } from '../../http/context.ts'
import { SignedIn } from '../accounts/schema.ts'
import { Device, DeviceDecision, DevicePoll, DeviceRef, DeviceStart, DeviceStarted } from './schema.ts'
import * as devices from './service.ts'

export const deviceRoutes = (http: Http) =>
  http
    .post('/api/auth/device/request', ({ ctx, body }) => devices.request(ctx, body), {
      ...on(devices.request, 'Ask for a device to be signed in (RFC 8628)'),
      body: DeviceStart,
      response: DeviceStarted,
    })
    .post('/api/auth/device/poll', ({ ctx, body }) => devices.poll(ctx, body), {
      ...on(devices.poll, 'Ask whether the device has been approved; until then 400 with `error`'),
      body: DevicePoll,
      response: SignedIn,
    })
    .get('/api/auth/device/:userCode', ({ ctx, params }) => devices.look(ctx, params), {
      ...on(devices.look, 'Look at the device that shows this code; from then on only you can answer it'),
      params: DeviceRef,
      response: Device,
    })
    .post('/api/auth/device/approve', ({ ctx, body }) => devices.approve(ctx, body), {
      ...on(devices.approve, 'Approve or refuse the device that shows this code'),
      body: DeviceDecision,
      response: Device,
    })
