import { eq } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { type Actor, userIdOf } from '../../auth/actor.ts'
import { commonLimit } from '../../auth/limit.ts'
import { authorize, type Rule, scopeHolds } from '../../auth/policy.ts'
import { CpuBudget } from '../../cpu-budget.ts'
import { DbError } from '../../db/driver.ts'
import { AppError, notFound } from '../../errors.ts'
import type { SyncEntity } from '../../records/sync.ts'
import { notifyOfConflicts, storeConflicts } from './conflicts.ts'
import { decideMutation, type MutationCase, readAhead } from './decide-mutation.ts'
import { type Device, deviceOf, ownDeviceRule } from './devices.ts'
import { syncApplied } from './events.ts'
import { keyOf } from './keys.ts'
import { syncLimits } from './limits.ts'
import { receiptsOf, storeReceipt } from './receipts.ts'
import type { Mutation, Push, Pushed, Receipt } from './schema.ts'
import { syncDevices } from './table.ts'
import { UserQueue } from './user-queue.ts'

/**
 * How long one push may merge texts. Later mutations get no receipt, so the device sends them again: other work comes
 * first, and no result depends on the speed of the server.
 */
const MERGE_MS = 200

/** Pushes of one user are applied one after another. */
const turns = new UserQueue('pushes', 4)

/** Applies the mutations of a device in order, each in its own transaction. Decides on at least one. */
export const push = flow('sync.push', ownDeviceRule, async (ctx, { deviceId, mutations }: Push): Promise<Pushed> => {
  const device = await deviceOf(ctx, deviceId)
  return turns.run(device.userId, () => applyAll(ctx, device, mutations))
})

async function applyAll(ctx: Ctx, device: Device, mutations: readonly Mutation[]): Promise<Pushed> {
  const ids = mutations.map(({ mutationId }) => mutationId)
  const known = new Map((await receiptsOf(ctx, device, ids)).map((receipt) => [receipt.mutationId, receipt]))
  const repeated = new Set(known.keys())
  const budget = new CpuBudget(MERGE_MS)
  for (let at = 0; at < mutations.length && !budget.isSpent; at += READ_AHEAD) {
    const open = mutations.slice(at, at + READ_AHEAD).filter(({ mutationId }) => !known.has(mutationId))
    const decided = await decideSome(ctx, { device, mutations: open, budget })
    for (const receipt of decided) known.set(receipt.mutationId, receipt)
    if (decided.length > 0) await announce(ctx, { device, mutations: decided.map(({ mutationId }) => mutationId) })
  }
  // The device may have missed the pull with these receipts, or a push may have failed before it announced them.
  if (repeated.size > 0) await announce(ctx, { device, mutations: [...repeated] })
  const receipts = ids.flatMap((id) => known.get(id) ?? [])
  const fresh = receipts.filter(({ mutationId }) => !repeated.has(mutationId))
  const conflicts = fresh.reduce((sum, receipt) => sum + (receipt.conflicts?.length ?? 0), 0)
  if (conflicts > 0) await notifyOfConflicts(ctx, { device, conflicts })
  await ctx.db
    .update(syncDevices)
    .set({ lastSeenAt: ctx.now, lastPushAt: ctx.now })
    .where(eq(syncDevices.id, device.id))
  return { receipts }
}

interface MutationBatch {
  device: Device
  mutations: readonly Mutation[]
  budget: CpuBudget
}

/** Decides on mutations in order, until the budget is spent. */
async function decideSome(ctx: Ctx, { device, mutations, budget }: MutationBatch): Promise<Receipt[]> {
  const ahead = await readAhead(ctx, mutations)
  const receipts = new Map<string, Receipt>()
  for (const mutation of mutations) {
    if (budget.isSpent) break
    // A push may contain a mutation twice.
    if (receipts.has(mutation.mutationId)) continue
    receipts.set(mutation.mutationId, await decide(ctx, { device, mutation, ahead, budget }))
  }
  return [...receipts.values()]
}

interface SingleMutation extends MutationCase {
  device: Device
}

/** Mutations whose records are read together. */
const READ_AHEAD = 100

/** For the inner writes: the actions that they call have rules of their own, even for an agent's token. */
const innerRule: Rule = { kinds: ['session', 'api_key', 'mcp_token'], scope: null, role: null, limited: true }

const ATTEMPTS = 5

async function decide(ctx: Ctx, { ahead, ...one }: SingleMutation): Promise<Receipt> {
  const { device, mutation } = one
  try {
    const as = await authorOf(ctx, mutation)
    for (let attempt = 1; ; attempt++) {
      try {
        return await apply({ ...ctx, actor: as }, attempt === 1 ? { ...one, ahead } : one)
      } catch (error) {
        if (attempt === ATTEMPTS || !isRace(error)) throw error
        // Another call of the device may have decided on it at the same time.
        const [receipt] = await receiptsOf(ctx, device, [mutation.mutationId])
        if (receipt) return receipt
      }
    }
  } catch (error) {
    const known = refusalIn(error)
    if (!known) throw error
    return reject(ctx, { device, mutation, code: known.code, detail: known.message })
  }
}

/** Returns why a mutation is rejected; undefined if the server failed. */
function refusalIn(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error.status < 500 ? error : undefined
  const refused = error instanceof DbError ? error : (error as { cause?: unknown }).cause
  // Data exceptions: the database also rejects values that pass every schema, such as NUL in a text.
  if (!(refused instanceof DbError && refused.code.startsWith('22'))) return undefined
  return new AppError('invalid', 'A value cannot be stored: it is out of range or not well-formed.')
}

const isRace = (error: unknown): boolean =>
  (error instanceof AppError && error.code === 'version_mismatch') ||
  (error instanceof DbError && error.code === UNIQUE_VIOLATION)
const UNIQUE_VIOLATION = '23505'

const apply = write('sync.apply', innerRule, async (ctx, { device, ...one }: SingleMutation): Promise<Receipt> => {
  const { mutation } = one
  const entity = entityFor(ctx, mutation)
  const { mutationId } = mutation
  const { status, clashes, container, created } = await decideMutation(ctx, entity, one)
  const conflicts = container && (await storeConflicts(ctx, device, mutation, container, clashes))
  const key = created ? await keyOf(ctx, entity, mutation.id) : undefined
  const receipt: Receipt = { mutationId, status, ...(conflicts && { conflicts }), ...(key && { key }) }
  storeReceipt(ctx, device, receipt)
  return receipt
})

interface Rejected extends Pick<SingleMutation, 'device' | 'mutation'> {
  code: string
  detail: string
}

const reject = write(
  'sync.reject',
  innerRule,
  async (ctx, { device, mutation, code, detail }: Rejected): Promise<Receipt> => {
    const { mutationId } = mutation
    const receipt: Receipt = { mutationId, status: 'rejected', code, detail: detail.slice(0, 2000) }
    storeReceipt(ctx, device, receipt)
    return receipt
  },
)

/**
 * Announces mutations whose receipts the next pull delivers: one event for many, because an event for each would cost
 * as much as the change. It follows the events of the changes, so that pull sends those first. Until then the device
 * has no receipt and pushes the mutations again, so nothing is lost if the server fails in between.
 */
const announce = write(
  'sync.announce',
  innerRule,
  async (ctx, { device, mutations }: { device: Device; mutations: string[] }): Promise<void> =>
    ctx.emit(syncApplied, { subjectId: device.id, userId: device.userId, data: { mutations } }),
)

/** Returns the entity of a mutation. Checks the scope first: a mutation that conflicts calls no action. */
function entityFor({ app, actor }: Ctx, mutation: Mutation): SyncEntity<Ctx> {
  const entity = app.records.synced.find(({ entity: name }) => name === mutation.entity)
  if (!entity) throw notFound('entity', mutation.entity)
  const scope = entity.scope.replace(/read$/, 'write')
  authorize(actor, { ...innerRule, scope }, `Changing a ${entity.entity}`, app.clock)
  const bytes = Buffer.byteLength(JSON.stringify(mutation))
  if (bytes > syncLimits.mutationBytes) throw new AppError('too_large', 'A mutation exceeds 1 MiB.')
  return entity
}

/**
 * Returns the author of the change: the user, or the agent of one of their tokens. An agent's change needs the rights
 * of the token and of the credential that sends it.
 */
async function authorOf(ctx: Ctx, { via }: Mutation): Promise<Actor> {
  const { actor } = ctx
  if (via === undefined) return actor
  const found = await ctx.app.auth.renew({ ...actor, kind: 'mcp_token', credentialId: via })
  const token = 'actor' in found && found.actor.userId === userIdOf(actor) ? found.actor : undefined
  const team = token && (token.sandboxOf ?? token.organizationId)
  if (!token || !team || !actor.memberships.has(team))
    throw new AppError('unauthenticated', 'The MCP token of this change is invalid or belongs to someone else.')
  // The record names its project, so the token's default project does not apply.
  return { ...token, projectId: null, scopes: commonScopes(token.scopes, actor.scopes), ...commonLimit(token, actor) }
}

/** Returns the scopes that both lists grant. */
const commonScopes = (a: readonly string[], b: readonly string[]): string[] => [
  ...new Set([...a.filter((scope) => holdsScope(b, scope)), ...b.filter((scope) => holdsScope(a, scope))]),
]

const holdsScope = (scopes: readonly string[], scope: string): boolean =>
  scope.includes(':') ? scopeHolds(scopes, scope) : scopes.includes(scope) || scopes.includes('write')
