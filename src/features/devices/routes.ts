import { type Http, on } from '../../http/context.ts'
import { SignedIn } from '../accounts/schema.ts'
import { Device, DeviceDecision, DevicePoll, DeviceRef, DeviceStart, DeviceStarted } from './schema.ts'
import * as devices from './service.ts'

export const deviceRoutes = (http: Http) =>
  http
    .post('/api/auth/device/request', ({ ctx, body }) => devices.request(ctx, body), {
      ...on(devices.request, 'Request to sign in a device (RFC 8628)'),
      body: DeviceStart,
      response: DeviceStarted,
    })
    .post('/api/auth/device/poll', ({ ctx, body }) => devices.poll(ctx, body), {
      ...on(devices.poll, 'Poll for the approval of the device; returns 400 with `error` until then'),
      body: DevicePoll,
      response: SignedIn,
    })
    .get('/api/auth/device/:userCode', ({ ctx, params }) => devices.showDevice(ctx, params), {
      ...on(devices.showDevice, 'Show the device with this code; from then on only you can approve or refuse it'),
      params: DeviceRef,
      response: Device,
    })
    .post('/api/auth/device/approve', ({ ctx, body }) => devices.approve(ctx, body), {
      ...on(devices.approve, 'Approve or refuse the device that shows this code'),
      body: DeviceDecision,
      response: Device,
    })
