import { asStream, type Http, on } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import { carryBundle } from './carry.ts'
import * as conflicts from './conflicts.ts'
import * as devices from './devices.ts'
import { syncLimits } from './limits.ts'
import { pull } from './pull.ts'
import { push } from './push.ts'
import {
  Carried,
  Carry,
  Conflict,
  ConflictPage,
  ConflictQuery,
  DeviceRegister,
  Page,
  PullQuery,
  Push,
  Pushed,
  Registered,
  Resolve,
  Status,
  StatusQuery,
} from './schema.ts'
import { getSyncStatus } from './status.ts'
import { NDJSON, streamPages } from './stream.ts'

const byId = object({ id: id() })

export const syncRoutes = (http: Http) =>
  http
    .post('/api/sync/devices/register', ({ ctx, body }) => devices.registerDevice(ctx, body), {
      ...on(devices.registerDevice, 'Register a device that keeps a copy of what you see, or change one'),
      body: DeviceRegister,
      response: Registered,
    })
    .delete('/api/sync/devices/:id', ({ ctx, params }) => devices.removeDevice(ctx, params), {
      ...on(devices.removeDevice, 'Remove a device and revoke the credential that registered it'),
      params: byId,
      response: Deleted,
    })
    .get(
      '/api/sync/pull',
      ({ ctx, query, request }) =>
        request.headers.get('accept')?.includes(NDJSON) ? asStream(streamPages(ctx, query)) : pull(ctx, query),
      {
        ...on(pull, 'Get what changed since a cursor; as application/x-ndjson, all pages in one stream', {
          answers: [410],
        }),
        query: PullQuery,
        response: Page,
      },
    )
    .post('/api/sync/push', ({ ctx, body }) => push(ctx, body), {
      ...on(push, 'Send changes that were made on a device', { maxBody: syncLimits.pushBytes, answers: [410] }),
      body: Push,
      response: Pushed,
    })
    .post('/api/sync/carry', ({ ctx, body }) => carryBundle(ctx, body), {
      ...on(carryBundle, 'Exchange a file with a device that has no network', { maxBody: 25 << 20, answers: [410] }),
      body: Carry,
      response: Carried,
    })
    .get('/api/sync/status', ({ ctx, query }) => getSyncStatus(ctx, query), {
      ...on(getSyncStatus, 'List your devices, and the count and checksum of the records in each container', {
        answers: [410],
      }),
      query: StatusQuery,
      response: Status,
    })
    .get('/api/sync/conflicts', ({ ctx, query }) => conflicts.listConflicts(ctx, query), {
      ...on(conflicts.listConflicts, 'List conflicts: yours, and those of records that you may change'),
      query: ConflictQuery,
      response: ConflictPage,
    })
    .post(
      '/api/sync/conflicts/:id/resolve',
      ({ ctx, params, body }) => conflicts.resolveConflict(ctx, { ...params, ...body }),
      {
        ...on(conflicts.resolveConflict, 'Resolve a conflict'),
        params: byId,
        body: Resolve,
        response: Conflict,
      },
    )
