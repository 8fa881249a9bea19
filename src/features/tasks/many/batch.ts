import { type Ctx, flow } from '../../../action.ts'
import { AppError } from '../../../errors.ts'
import { taskWriteRule } from '../refusals.ts'
import { update } from '../service.ts'
import type { ChangedMany, ChangeMany } from './many-schema.ts'

type ChangeResult = ChangedMany['items'][number]

/**
 * Makes one change to several tasks, each in a transaction of its own: failed changes return a reason, and the others
 * are made. With an idempotency key, every task has a key of its own, so that a repeated call continues.
 */
export const changeMany = flow(
  'tasks.changeMany',
  taskWriteRule,
  async (ctx, { tasks, change }: ChangeMany, { idempotencyKey }): Promise<ChangedMany> => {
    const items: ChangeResult[] = []
    for (const { id, ifMatch } of tasks) {
      const key = idempotencyKey && new Bun.CryptoHasher('sha256').update(`${idempotencyKey}\n${id}`).digest('hex')
      const own: Ctx = { ...ctx, expectedVersion: ifMatch, idempotencyKey: key }
      items.push(
        await update(own, { ...change, ref: id }).then(
          ({ freed: _, blocked: __, openCriteria: ___, ...task }) => ({ id, task }),
          refusalOf(id),
        ),
      )
    }
    return { items }
  },
)

/** Returns why a task was not changed; throws if the server failed. */
const refusalOf =
  (id: string) =>
  (error: unknown): ChangeResult => {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { id, problem: { code: error.code, status: error.status, detail: error.message } }
  }
