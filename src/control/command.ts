import type { Action, Ctx } from '../action.ts'

/** An action that a server runs for a control command. */
export interface CommandHandler {
  readonly name: string
  run(ctx: Ctx, input: unknown): Promise<unknown>
}

/**
 * A request of the command line to a running server, with the types of its input and result. Features define theirs in
 * control.ts, which imports only types, so that the command line can use it without loading the feature.
 */
export interface ControlCommand<I, O> {
  readonly name: string
  /** The command may run before a database exists, and then creates it. */
  readonly createsDatabase: boolean
  /** Returns the handler that runs this action, for `Feature.control`. */
  handle(action: Action<I, O>): CommandHandler
}

export const command = <I, O>(name: string, { createsDatabase = false } = {}): ControlCommand<I, O> => ({
  name,
  createsDatabase,
  handle: (action) => ({ name, run: (ctx, input) => action(ctx, input as I) }),
})
