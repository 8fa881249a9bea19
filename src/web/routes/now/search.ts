export type Hours = '2' | '8' | '24'

/** The span is part of the address. */
export const nowSearch = (search: Record<string, unknown>): { hours?: Hours } => {
  const hours = String(search.hours)
  return hours === '8' || hours === '24' ? { hours } : {}
}
