/** Returns the time this many days after another one; before it, if the number is negative. */
export const daysAfter = (time: string, days: number): string =>
  new Date(Date.parse(time) + days * 86_400_000).toISOString()
