/**
 * Returns a function that finds the first moment after a given one at which a five-field cron expression is due, in
 * UTC. Throws at once when the expression is invalid or never due. When both day fields are restricted, either one
 * suffices.
 */
export function parseCron(expression: string): (after: Date) => Date {
  const next = (after: Date): Date => {
    const due = Bun.cron.parse(expression, after, { tz: 'UTC' })
    if (!due) throw new Error('it is never due')
    return due
  }
  try {
    next(new Date())
  } catch (error) {
    throw new Error(`cron "${expression}": ${(error as Error).message}`, { cause: error })
  }
  return next
}
