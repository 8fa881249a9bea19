/** A command that cannot go on for a reason the user can mend. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly exitCode = 2,
  ) {
    super(message)
  }
}
