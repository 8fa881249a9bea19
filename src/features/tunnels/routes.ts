import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object, text } from '../../schema.ts'
import { SUBPROTOCOL } from '../../tunnel/frames.ts'
import {
  ActionInput,
  HistoryQuery,
  OfferedActions,
  TunnelAction,
  TunnelActionPage,
  TunnelRequests,
  WaitQuery,
} from './actions/action-schema.ts'
import * as actions from './actions/actions.ts'
import { claimTunnel, registerTunnel } from './joining.ts'
import {
  Entrance,
  Heartbeat,
  HeartbeatTaken,
  ServiceQuery,
  Tunnel,
  TunnelClaim,
  TunnelClaimed,
  TunnelEnter,
  TunnelPage,
  TunnelPatch,
  TunnelQuery,
  TunnelRegister,
  TunnelRegistered,
  TunnelStatus,
} from './schema.ts'
import * as tunnels from './service.ts'
import { acceptMachine, recordHeartbeat } from './serving.ts'
import { enterService } from './traffic/entries.ts'
import { listRequests } from './traffic/request-log.ts'
import { connectService } from './traffic/sockets.ts'

const byRef = object({
  id: text(100, { minLength: 1, description: 'Id or slug', example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
})

const byAction = object({ ...byRef.properties, actionId: id() })

export const tunnelRoutes = (http: Http) =>
  http
    .get('/api/tunnels', ({ ctx, query }) => tunnels.list(ctx, query), {
      ...on(tunnels.list, 'List the tunnels of the current team'),
      query: TunnelQuery,
      response: TunnelPage,
    })
    .post(
      '/api/tunnels/register',
      async ({ ctx, body, set }) => {
        const { tunnel, ...rest } = await registerTunnel(ctx, body)
        return { tunnel: respondCreated(set, '/api/tunnels', tunnel), ...rest }
      },
      {
        ...on(registerTunnel, 'Register a tunnel, and get the nonce with which a machine claims it'),
        body: TunnelRegister,
        response: { 201: TunnelRegistered },
      },
    )
    .post('/api/tunnels/claim', ({ ctx, body }) => claimTunnel(ctx, body), {
      ...on(claimTunnel, 'Claim a tunnel with a nonce, and get the credential of the machine'),
      body: TunnelClaim,
      response: TunnelClaimed,
    })
    .post('/api/tunnels/heartbeat', ({ ctx, body }) => recordHeartbeat(ctx, body), {
      ...on(recordHeartbeat, 'Report that the machine is online, with its own credential'),
      body: Heartbeat,
      response: HeartbeatTaken,
    })
    .post('/api/tunnels/enter', ({ ctx, body }) => enterService(ctx, body), {
      ...on(enterService, 'Get an address that lets this browser open a service of a tunnel'),
      body: TunnelEnter,
      response: Entrance,
    })
    .get(
      '/api/tunnels/reverse',
      ({ ctx, request, guard }) =>
        acceptMachine(ctx, {
          isOurs: request.headers.get('sec-websocket-protocol') === SUBPROTOCOL,
          upgrade: (data) => guard.upgrade(request, data),
        }),
      on(acceptMachine, 'Connect a machine, over a WebSocket with its own credential', { answers: [426] }),
    )
    .get('/api/tunnels/:id', ({ ctx, params }) => tunnels.get(ctx, { ref: params.id }), {
      ...on(tunnels.get, 'Get a tunnel'),
      params: byRef,
      response: Tunnel,
    })
    .put('/api/tunnels/:id', ({ ctx, params, body }) => tunnels.update(ctx, { ...body, ref: params.id }), {
      ...on(tunnels.update, 'Change the given fields of a tunnel'),
      params: byRef,
      body: TunnelPatch,
      response: Tunnel,
    })
    .delete('/api/tunnels/:id', ({ ctx, params }) => tunnels.remove(ctx, { ref: params.id }), {
      ...on(tunnels.remove, 'Delete a tunnel and cut its machine off'),
      params: byRef,
      response: Deleted,
    })
    .get('/api/tunnels/:id/status', ({ ctx, params }) => tunnels.status(ctx, { ref: params.id }), {
      ...on(tunnels.status, 'Get the connection of a tunnel and its traffic'),
      params: byRef,
      response: TunnelStatus,
    })
    .get('/api/tunnels/:id/requests', ({ ctx, params }) => listRequests(ctx, { ref: params.id }), {
      ...on(listRequests, 'List the last requests through a tunnel'),
      params: byRef,
      response: TunnelRequests,
    })
    .get('/api/tunnels/:id/actions', ({ ctx, params }) => actions.listAllowedActions(ctx, { ref: params.id }), {
      ...on(actions.listAllowedActions, 'List the actions that the machine allows you'),
      params: byRef,
      response: OfferedActions,
    })
    .post(
      '/api/tunnels/:id/actions',
      async ({ ctx, params, query, body, set }) => {
        const action = await actions.runAction(ctx, { ...body, wait: query.wait, ref: params.id })
        return respondCreated(set, `/api/tunnels/${action.tunnelId}/actions`, action)
      },
      {
        ...on(actions.runAction, 'Request an action on the machine, and optionally wait for its end', {
          stoppable: true,
        }),
        params: byRef,
        query: WaitQuery,
        body: ActionInput,
        response: { 201: TunnelAction },
      },
    )
    .get(
      '/api/tunnels/:id/actions/history',
      ({ ctx, params, query }) => actions.listActions(ctx, { ...query, ref: params.id }),
      {
        ...on(actions.listActions, 'List the actions of the last 90 days'),
        params: byRef,
        query: HistoryQuery,
        response: TunnelActionPage,
      },
    )
    .get(
      '/api/tunnels/:id/actions/:actionId',
      ({ ctx, params }) => actions.getAction(ctx, { ref: params.id, actionId: params.actionId }),
      {
        ...on(actions.getAction, 'Get an action with its output'),
        params: byAction,
        response: TunnelAction,
      },
    )
    .get(
      '/api/tunnels/:id/ws',
      ({ ctx, params, query, request, guard }) =>
        connectService(ctx, {
          ref: params.id,
          service: query.service,
          mcp: query.mcp,
          path: query.path,
          protocols: request.headers.get('sec-websocket-protocol'),
          isUpgrade: request.headers.get('upgrade')?.toLowerCase() === 'websocket',
          upgrade: (data) => guard.upgrade(request, data),
        }),
      {
        ...on(connectService, 'Open a WebSocket to a service or an MCP server behind a tunnel', {
          inAddress: true,
          answers: [426, 502, 504],
        }),
        params: byRef,
        query: ServiceQuery,
      },
    )
