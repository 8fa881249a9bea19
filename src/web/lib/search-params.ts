/** Reads search parameters of an address. A value of the wrong type counts as not set. */
export const textParam = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

export const choiceParam = <T extends string>(choices: Readonly<Record<T, unknown>>, value: unknown): T | undefined =>
  typeof value === 'string' && Object.hasOwn(choices, value) ? (value as T) : undefined

export const numberParam = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
