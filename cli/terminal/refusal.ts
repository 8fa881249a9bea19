/** Stops a command for a reason that the user can fix. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly exitCode = 2,
  ) {
    super(message)
  }
}
