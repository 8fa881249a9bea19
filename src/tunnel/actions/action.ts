import type { EndState, TunnelUser } from '../frames.ts'
import type { MachineConfig } from '../machine-config.ts'

export const actionLimits = {
  /** Actions of one machine that run at once. */
  atOnce: 4,
  /** Milliseconds that an action may run, and that it waits for a machine that is offline. */
  ms: 600_000,
  queueMs: 60_000,
  /** Milliseconds that a person at the machine has to confirm. */
  confirmMs: 300_000,
  /** Bytes of the JSON of the parameters and of a result. */
  params: 16 << 10,
  result: 1 << 20,
  /** Characters of the output that are kept, counted from its end. */
  output: 1 << 20,
  /** Characters of one line; a longer one is split. */
  line: 2000,
} as const

/** An action that ended without a result. The message is shown to its caller. */
export class ActionFailure extends Error {
  constructor(
    readonly state: Exclude<EndState, 'succeeded'>,
    message: string,
    /** A partial result, such as the exit code of a program. */
    readonly result?: unknown,
  ) {
    super(message)
  }
}

/** One action while it runs on the machine. */
export interface ActionRun {
  readonly id: string
  readonly user: TunnelUser
  readonly machine: MachineConfig
  /** The environment of programs, without the credentials of the user who started the tunnel. */
  readonly env: Readonly<Record<string, string>>
  /** Fires at the time limit, and when the action is cancelled. */
  readonly signal: AbortSignal
  /** Adds text to the output. Texts of different streams are not joined into one line. */
  print(text: string, stream?: string): void
  /** Resolves once a person at the machine has confirmed; throws if they decline or do not respond in time. */
  requireConfirmation(what: string): Promise<void>
}

/** Runs an action and returns its result as JSON. Checks its parameters and `who` itself. */
export type ActionHandler = (params: Readonly<Record<string, unknown>>, run: ActionRun) => Promise<unknown>

/** A question for a person at the machine. */
export interface ConfirmationRequest {
  id: string
  user: TunnelUser
  what: string
}
