import { check } from '../../check.ts'
import { object, optional, type Static, type TSchema, text } from '../../schema.ts'
import { isListening } from '../local-service.ts'
import { isAllowed } from '../machine-config.ts'
import { ActionFailure, type ActionHandler, type ActionRun } from './action.ts'
import { RunCommand, runCommand } from './command.ts'
import { SyncWorkspace, syncWorkspace } from './workspace.ts'

/** Returns a handler that checks its parameters first. */
export const checkedHandler =
  <T extends TSchema>(schema: T, work: (params: Static<T>, run: ActionRun) => Promise<unknown>): ActionHandler =>
  async (params, run) => {
    const [problem] = check(schema, params)
    if (problem) throw new ActionFailure('refused', `${problem.pointer}: ${problem.message}`)
    return work(params as Static<T>, run)
  }

const name = text(30, { minLength: 1 })

const ping = checkedHandler(object({}), async () => ({ at: new Date().toISOString() }))

/** Returns which of the caller's services respond. */
const checkLocal = checkedHandler(object({ service: optional(name) }), async ({ service }, { machine, user }) => {
  const allowed = Object.entries(machine.services).filter(([, { who }]) => isAllowed(who, user, machine.ownerId))
  const wanted = allowed.filter(([known]) => service === undefined || known === service)
  if (service !== undefined && wanted.length === 0)
    throw new ActionFailure('refused', 'The machine does not offer you this service.')
  const services = wanted.map(async ([known, { url }]) => ({ name: known, ok: await isListening(url) }))
  return { services: await Promise.all(services) }
})

/** Handlers by action type. `cancel` is built in. */
export const actionHandlers: Readonly<Record<string, ActionHandler>> = {
  ping,
  check_local: checkLocal,
  run_command: checkedHandler(RunCommand, runCommand),
  sync_workspace: checkedHandler(SyncWorkspace, syncWorkspace),
}
