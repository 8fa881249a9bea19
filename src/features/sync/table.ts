import { index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import type { CredentialKind } from '../../auth/actor.ts'
import { instant, json, newId } from '../../db/columns.ts'
import type { Container } from '../../records/sync.ts'
import { users } from '../users/table.ts'

/** A device that keeps a copy of the records that its user sees. */
export const syncDevices = pgTable(
  'sync_devices',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    platform: text().notNull(),
    /** The protocol version of the device, a date. */
    schema: text().notNull(),
    /** The containers that it keeps; null: all. */
    only: json<Container[]>(),
    /** Ed25519, raw, base64url: signs the bundles of a device that is never connected. */
    publicKey: text(),
    /** The number and the SHA-256 of the last bundle that was imported from the device. */
    carried: integer().notNull().default(0),
    carriedHash: text(),
    /** The credential that registered it. Removing the device revokes it. */
    credentialKind: text().$type<CredentialKind>().notNull(),
    credentialId: uuid(),
    createdAt: instant().notNull(),
    lastSeenAt: instant().notNull(),
    lastPullAt: instant(),
    lastPushAt: instant(),
    /** When the sums of its containers were last sent to it. */
    lastCheckAt: instant(),
  },
  (t) => [index('sync_devices_user').on(t.userId), index('sync_devices_credential').on(t.credentialId)],
)

/** The part of a container where the next page continues. */
export interface Reading {
  container: Container
  entity: string
  /** The last id of this entity that was sent. */
  after?: string
}

/** The state of a device after a page. A cursor is the id of such a row. */
export const syncCursors = pgTable(
  'sync_cursors',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    deviceId: uuid()
      .notNull()
      .references(() => syncDevices.id, { onDelete: 'cascade' }),
    createdAt: instant().notNull(),
    /** Position in the feed of events. */
    position: text().notNull(),
    /** The containers that it holds in full. */
    held: json<Container[]>().notNull(),
    reading: json<Reading>(),
    /** The entities that its credential could read. */
    entities: json<string[]>().notNull(),
  },
  (t) => [index('sync_cursors_device').on(t.deviceId, t.createdAt)],
)

export const receiptStatuses = ['applied', 'merged', 'conflict', 'rejected'] as const

/** The result of a mutation, so that each is applied once. */
export const syncReceipts = pgTable(
  'sync_receipts',
  {
    deviceId: uuid()
      .notNull()
      .references(() => syncDevices.id, { onDelete: 'cascade' }),
    mutationId: uuid().notNull(),
    at: instant().notNull(),
    status: text().$type<(typeof receiptStatuses)[number]>().notNull(),
    /** Ids of conflicts. */
    conflicts: json<string[]>(),
    code: text(),
    detail: text(),
    key: text(),
  },
  (t) => [primaryKey({ columns: [t.deviceId, t.mutationId] }), index('sync_receipts_at').on(t.at)],
)

export const conflictKinds = ['field', 'deleted', 'delete'] as const

/**
 * A change that a device could not make. `field`: the field also changed on the server. `deleted`: the record was
 * deleted on the server. `delete`: the device deleted a record that changed on the server.
 */
export const syncConflicts = pgTable(
  'sync_conflicts',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    /** Not a foreign key: the conflict stays open when the device is removed. */
    deviceId: uuid().notNull(),
    deviceName: text().notNull(),
    mutationId: uuid().notNull(),
    entity: text().notNull(),
    recordId: uuid().notNull(),
    container: text().$type<Container>().notNull(),
    kind: text().$type<(typeof conflictKinds)[number]>().notNull(),
    field: text(),
    /** The value that the user saw, and their new value. */
    values: json<{ base: unknown; mine: unknown }>().notNull(),
    resolvedAt: instant(),
    resolvedById: uuid(),
    choice: text().$type<'server' | 'mine' | 'value'>(),
  },
  (t) => [
    index('sync_conflicts_user').on(t.userId, t.createdAt, t.id),
    index('sync_conflicts_container').on(t.container, t.createdAt, t.id),
  ],
)
