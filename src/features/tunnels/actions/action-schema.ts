import { Type } from '@sinclair/typebox'
import {
  array,
  bool,
  id,
  instant,
  int,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  permissions,
  type Static,
  text,
} from '../../../schema.ts'
import { endStates, type MachineOffer } from '../../../tunnel/frames.ts'

export const actionTypes = [
  'ping',
  'check_local',
  'list_tools',
  'call_tool',
  'sync_workspace',
  'cancel',
  'run_command',
] as const
export type ActionType = (typeof actionTypes)[number]
export const actionStates = ['queued', 'awaiting_confirmation', 'running', ...endStates] as const
export type ActionState = (typeof actionStates)[number]

/** The offer of a machine, apart from services. */
export type StoredOffer = Pick<MachineOffer, 'commands' | 'mcp' | 'workspaces'>

const type = oneOf(actionTypes, { example: 'ping' })

export const OfferedAction = object({
  type,
  name: nullable(text(100, { example: 'deploy', description: 'Its target, such as the name of a command' })),
  description: text(500, { example: 'Deploy a branch' }),
  confirm: bool({ description: 'A person at the machine must confirm each time' }),
  schema: jsonObject({ description: 'JSON Schema of `params`' }),
})
export type OfferedAction = Static<typeof OfferedAction>
export const OfferedActions = object({ items: array(OfferedAction, 200) })
export type OfferedActions = Static<typeof OfferedActions>

export const ActionInput = object({
  type,
  params: optional(jsonObject({ description: 'At most 16 KiB. Their schema: `GET /api/tunnels/{id}/actions`' })),
})
export type ActionInput = Static<typeof ActionInput>
export const WaitQuery = object({
  wait: optional(int({ min: 1, max: 25, example: 25, description: 'Seconds to wait for its end. Default: none' })),
})

export const TunnelAction = object({
  id: id(),
  tunnelId: id(),
  type,
  name: nullable(text(200, { example: 'deploy' })),
  params: jsonObject({ description: 'Without secrets' }),
  state: oneOf(actionStates, { example: 'succeeded' }),
  caller: object({ id: nullable(id()), name: text(100, { example: 'Ada Lovelace' }) }),
  createdAt: instant(),
  startedAt: nullable(instant()),
  finishedAt: nullable(instant()),
  durationMs: nullable(int({ example: 1200 })),
  result: nullable(Type.Unknown({ description: 'As the machine returned it' })),
  error: nullable(text(1000, { example: 'Ended with exit code 1.' })),
  output: optional(text(2 << 20, { example: 'done', description: 'The end of the output, or the output so far' })),
  outputCut: bool({ description: 'Some of the output, usually its beginning, is missing' }),
  can: optional(permissions(['cancel'])),
})
export type TunnelAction = Static<typeof TunnelAction>
export const TunnelActionPage = pageOf(TunnelAction)
export type TunnelActionPage = Static<typeof TunnelActionPage>
export const HistoryQuery = object({ ...paging('createdAt') })
export type HistoryQuery = Static<typeof HistoryQuery>

export const TunnelRequest = object({
  at: instant(),
  service: text(30, { example: 'web' }),
  method: text(20, { example: 'GET' }),
  path: text(200, { example: '/', description: 'Without the query, and cut' }),
  status: int({ example: 200 }),
  ms: int({ example: 12 }),
  user: nullable(text(320, { example: 'ada@example.com' })),
})
export type TunnelRequest = Static<typeof TunnelRequest>
export const TunnelRequests = object({ items: array(TunnelRequest, 100) })
export type TunnelRequests = Static<typeof TunnelRequests>
