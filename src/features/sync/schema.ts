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
  type Static,
  text,
  title,
} from '../../schema.ts'
import { syncLimits } from './limits.ts'
import { conflictKinds, receiptStatuses } from './table.ts'

const EXAMPLE_ID = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const container = text(60, {
  pattern: '^(project|organization|user):[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  example: `project:${EXAMPLE_ID}`,
  description: 'Where a record belongs: its project, else its organization, else its owner',
})
const name = title(100, { example: 'laptop' })
const platform = title(60, { example: 'linux x64' })
const schema = text(10, {
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  example: '2026-11-16',
  description: 'Version of the protocol',
})

export const DeviceRegister = object({
  name,
  platform,
  schema,
  only: optional(array(container, 1000, { description: 'Containers to keep. Default: all that the user sees' })),
  publicKey: optional(
    text(43, {
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'Ed25519, raw, base64url: signs the bundles of the device',
    }),
  ),
  deviceId: optional(id({ description: 'A device of yours, to change it' })),
})
export type DeviceRegister = Static<typeof DeviceRegister>

const epoch = id({ description: 'Changes when the server is restored from a backup; devices then start over' })
export const Registered = object({
  deviceId: id(),
  epoch,
  schema,
  containers: Type.Array(container),
  limits: object(
    Object.fromEntries(Object.entries(syncLimits).map(([key, value]) => [key, int({ example: value })])) as Record<
      keyof typeof syncLimits,
      ReturnType<typeof int>
    >,
  ),
})
export type Registered = Static<typeof Registered>

const entity = text(40, { example: 'task' })
const version = int({ min: 1, example: 3 })

export const Change = object({
  entity,
  id: id(),
  op: oneOf(['put', 'delete']),
  container,
  containers: optional(Type.Array(container, { description: 'For a link: the containers of both records' })),
  version: optional(version),
  record: optional(jsonObject({ description: 'The fields of the record, with `put`' })),
})
export type Change = Static<typeof Change>

export const Receipt = object({
  mutationId: id(),
  status: oneOf(receiptStatuses),
  conflicts: optional(Type.Array(id(), { description: 'Ids of conflicts' })),
  code: optional(text(40, { example: 'forbidden' })),
  detail: optional(text(2000, { example: 'This project is archived.' })),
  key: optional(text(100, { example: 'TUT-42', description: 'The key or slug of a new record' })),
})
export type Receipt = Static<typeof Receipt>

export const Sum = object({
  container,
  count: int({ example: 120 }),
  sum: Type.Number({ examples: [258_016_400_181], description: 'Sum of the first 32 bits of md5(id:version)' }),
})
export type Sum = Static<typeof Sum>

export const PullQuery = object({
  deviceId: id(),
  cursor: optional(text(60, { example: `s1.${EXAMPLE_ID}`, description: 'Of the last page. Default: start' })),
  limit: optional(int({ min: 1, max: syncLimits.page, description: `Default: ${syncLimits.page}` })),
})
export type PullQuery = Static<typeof PullQuery>

export const Page = object({
  epoch,
  forget: Type.Array(container, { description: 'Containers to drop, before the changes are applied' }),
  changes: Type.Array(Change),
  receipts: Type.Array(Receipt),
  cursor: text(60, { example: `s1.${EXAMPLE_ID}` }),
  hasMore: bool(),
  check: optional(Type.Array(Sum)),
})
export type Page = Static<typeof Page>

export const Mutation = object({
  mutationId: id(),
  entity,
  id: id({ description: 'Id of the record: a UUIDv7 that the device chooses for a new one' }),
  op: oneOf(['upsert', 'delete']),
  fields: optional(jsonObject({ description: 'The new values of the changed fields, as pull sends them' })),
  base: optional(
    nullable(
      jsonObject({
        description:
          'What the user saw in these fields; with `delete`, in all that can change. Long texts may be ' +
          '`{ "$sha256": "…" }`. None, or an empty one, for a new record',
      }),
    ),
  ),
  at: optional(
    text(40, { example: '2026-11-15T09:30:00.000Z', description: 'The time on the device; for display only' }),
  ),
  via: optional(id({ description: 'The MCP token of the agent that made the change' })),
})
export type Mutation = Static<typeof Mutation>

export const Push = object({
  deviceId: id(),
  mutations: Type.Array(Mutation, { minItems: 1, maxItems: syncLimits.mutations }),
})
export type Push = Static<typeof Push>
export const Pushed = object({
  receipts: Type.Array(Receipt, { description: 'The result of each change. Send changes without a receipt again' }),
})
export type Pushed = Static<typeof Pushed>

export const Carry = object({
  bundle: text(24 << 20, {
    minLength: 1,
    description: 'A file of a device without a network, as base64',
    example: 'dHV0dGk=',
  }),
  fingerprint: text(39, {
    description: 'Fingerprint of the key of the device, as confirmed by the user',
    example: '3ead 8836 2c32 7503 f314 fed4 29e5 1181',
  }),
})
export type Carry = Static<typeof Carry>
export const Carried = object({
  bundle: Type.String({ description: 'The file to return to the device, as base64', examples: ['dHV0dGk='] }),
  changes: int({ example: 3 }),
  records: int({ example: 120 }),
})
export type Carried = Static<typeof Carried>

export const StatusQuery = object({
  deviceId: optional(id({ description: 'Only the containers of this device. Default: all that you can see' })),
})
export type StatusQuery = Static<typeof StatusQuery>
const DeviceItem = object({
  id: id(),
  name,
  platform,
  schema,
  only: nullable(Type.Array(container)),
  createdAt: instant(),
  lastSeenAt: instant(),
  lastPullAt: nullable(instant()),
  lastPushAt: nullable(instant()),
})
export const Status = object({
  epoch,
  schema,
  devices: Type.Array(DeviceItem),
  openConflicts: int({ example: 0 }),
  containers: Type.Array(Sum),
})
export type Status = Static<typeof Status>

export const Conflict = object({
  id: id(),
  createdAt: instant(),
  userId: id({ description: 'Whose change it is' }),
  device: object({ id: id(), name }),
  mutationId: id(),
  entity,
  recordId: id(),
  title: nullable(text(500, { description: 'The title of the record; null if you cannot see it', example: 'Rope' })),
  container,
  kind: oneOf(conflictKinds, {
    description:
      'field: the field also changed on the server; deleted: the record was deleted on the server; ' +
      'delete: the device deleted a record that changed on the server',
  }),
  field: nullable(text(63, { example: 'title' })),
  base: Type.Unknown({ description: 'What the user saw' }),
  mine: Type.Unknown({ description: 'The change of the device: a value; for `deleted`, the changed fields' }),
  server: Type.Unknown({ description: 'What is stored now; null if the record is deleted' }),
  resolvedAt: nullable(instant()),
  choice: nullable(oneOf(['server', 'mine', 'value'])),
})
export type Conflict = Static<typeof Conflict>
export const ConflictQuery = object({
  ...paging('createdAt'),
  resolved: optional(bool({ description: 'Include resolved ones. Default: false' })),
  entity: optional(entity),
  recordId: optional(id()),
})
export type ConflictQuery = Static<typeof ConflictQuery>
export const ConflictPage = pageOf(Conflict)
export type ConflictPage = Static<typeof ConflictPage>
export const Resolve = object({
  choice: oneOf(['server', 'mine', 'value'], {
    description: 'server: keep the stored value; mine: use the value of the device and restore a deleted record',
  }),
  value: optional(Type.Unknown({ description: 'With the choice `value`: the value of the field' })),
})
export type Resolve = Static<typeof Resolve>
