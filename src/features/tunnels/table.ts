import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  real,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { instant, json, softRecord, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import type { ActionState, ActionType, StoredOffer } from './actions/action-schema.ts'
import type { Access, OfferedService } from './schema.ts'

/** A machine that dials out to the server, so that its team can reach it. */
export const tunnels = pgTable(
  'tunnels',
  {
    ...softRecord(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    ownerId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    slug: text().notNull(),
    access: text().$type<Access>().notNull(),
    labels: textList().notNull(),
    paused: boolean().notNull().default(false),
    /** Facts about the machine from its claim. */
    hostname: text(),
    os: text(),
    architecture: text(),
    clientVersion: text(),
    /** Identifies the credential; a claim creates a new one, which ends connections of the old one. */
    tokenId: uuid(),
    tokenHash: text(),
    claimedAt: instant(),
    /** SHA-256 of the nonce that claims the tunnel, while one is pending. */
    claimHash: text(),
    claimExpiresAt: instant(),
  },
  (t) => [
    uniqueIndex('tunnels_slug').on(t.slug).where(sql`${t.deletedAt} is null`),
    uniqueIndex('tunnels_token').on(t.tokenHash),
    uniqueIndex('tunnels_token_id').on(t.tokenId),
    uniqueIndex('tunnels_claim').on(t.claimHash),
    index('tunnels_organization').on(t.organizationId, t.name, t.id),
    index('tunnels_owner').on(t.ownerId),
  ],
)

/** Former slugs of renamed tunnels. Like those of deleted tunnels, they are reserved for a while. */
export const tunnelFormerSlugs = pgTable(
  'tunnel_former_slugs',
  {
    id: uuid().primaryKey(),
    slug: text().notNull(),
    ownerId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    leftAt: instant().notNull(),
  },
  (t) => [index('tunnel_former_slugs_slug').on(t.slug), index('tunnel_former_slugs_owner').on(t.ownerId)],
)

/** The last connection of each tunnel. Not in `tunnels`, because a heartbeat is not a change of the record. */
export const tunnelSessions = pgTable('tunnel_sessions', {
  tunnelId: uuid()
    .primaryKey()
    .references(() => tunnels.id, { onDelete: 'cascade' }),
  /** Rises with each connection; older connections are rejected. */
  generation: integer().notNull(),
  instanceId: uuid().notNull(),
  /** Where other processes reach that one; null if not configured. */
  instanceUrl: text(),
  since: instant().notNull(),
  leaseUntil: instant().notNull(),
  lastSeenAt: instant().notNull(),
  /** False once its end was announced. */
  online: boolean().notNull(),
  rttMs: real(),
  services: json<OfferedService[]>().notNull(),
  /** The machine's offer, apart from services. */
  offer: json<StoredOffer>(),
})

/** Requested actions and their results. */
export const tunnelActions = pgTable(
  'tunnel_actions',
  {
    id: uuid().primaryKey(),
    tunnelId: uuid()
      .notNull()
      .references(() => tunnels.id, { onDelete: 'cascade' }),
    callerId: uuid().references(() => users.id, { onDelete: 'set null' }),
    createdAt: instant().notNull(),
    startedAt: instant(),
    finishedAt: instant(),
    type: text().$type<ActionType>().notNull(),
    /** Its target, such as the name of a command. */
    name: text(),
    /** As shown to people: without secrets. */
    params: json<Record<string, unknown>>().notNull(),
    /** As they were sent, encrypted; null once the machine has them. */
    sealed: text(),
    state: text().$type<ActionState>().notNull(),
    result: json<unknown>(),
    error: text(),
    output: text(),
    outputCut: boolean().notNull().default(false),
  },
  (t) => [
    index('tunnel_actions_tunnel').on(t.tunnelId, t.createdAt, t.id),
    index('tunnel_actions_caller').on(t.callerId),
    index('tunnel_actions_open').on(t.tunnelId).where(sql`${t.finishedAt} is null`),
    index('tunnel_actions_created').on(t.createdAt),
  ],
)

/** The traffic of a tunnel, by hour. */
export const tunnelHours = pgTable(
  'tunnel_hours',
  {
    tunnelId: uuid()
      .notNull()
      .references(() => tunnels.id, { onDelete: 'cascade' }),
    hour: instant().notNull(),
    requests: integer().notNull(),
    bytes: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.tunnelId, t.hour] })],
)
