import { flow, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { repositoryFailed, repositorySynced } from './events.ts'
import { openRemote } from './remote.ts'
import { changeRepository, findWritableRepository, type Row, remoteReference, toRepository } from './rows.ts'
import type { Repository } from './schema.ts'
import { readyColumns, type Snapshot, snapshotOf } from './snapshot.ts'

/** A sync older than this counts as lost: its server stopped during the sync. */
const STALE_MS = 60_000

const beginSync = write(
  'repositories.begin',
  member('repos:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ before: Row; row: Row }> => {
    const before = await findWritableRepository(ctx, ref, 'Syncing this repository')
    if (before.status === 'syncing' && Date.parse(ctx.now) - Date.parse(before.updatedAt) < STALE_MS)
      throw new AppError('conflict', 'The repository is being synced right now. Try again in a few seconds.')
    return { before, row: await changeRepository(ctx, before, { status: 'syncing' }) }
  },
)

interface Finish {
  row: Row
  seen?: Snapshot
  error?: string
  /** The earlier status, to restore if the sync learned nothing about the repository. */
  back?: Row['status']
}

const finishSync = write(
  'repositories.finish',
  member('repos:write'),
  async (ctx, { row, seen, error, back }: Finish): Promise<Row> => {
    if (seen) return changeRepository(ctx, row, readyColumns(ctx, seen), repositorySynced)
    return back
      ? changeRepository(ctx, row, { status: back })
      : changeRepository(ctx, row, { status: 'error', error: error?.slice(0, 500) }, repositoryFailed)
  },
)

/** Errors of the caller's token or rate limit say nothing about the repository. */
const isRepositoryError = ({ code }: AppError, signedIn: boolean): boolean =>
  code === 'upstream_failed' || code === 'upstream_timeout' || code === 'conflict' || (code === 'not_found' && signedIn)

/**
 * Fetches the repository from its host with the caller's token. Only on request: no job uses a person's token for this.
 */
export const sync = flow(
  'repositories.sync',
  member('repos:write'),
  async (ctx, { ref }: { ref: string }): Promise<Repository> => {
    const { before, row } = await beginSync(ctx, { ref })
    let signedIn = false
    try {
      const reached = await openRemote(ctx, remoteReference(ctx, row))
      signedIn = reached.signedIn
      return toRepository(await finishSync(ctx, { row, seen: await snapshotOf(reached.remote) }))
    } catch (error) {
      const settled = before.status === 'syncing' ? (before.syncedAt ? 'ready' : 'pending') : before.status
      const reason = error instanceof AppError && isRepositoryError(error, signedIn) ? error.message : undefined
      await finishSync(ctx, reason === undefined ? { row, back: settled } : { row, error: reason })
      throw error
    }
  },
  { idempotent: true, outside: true },
)
