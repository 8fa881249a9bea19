import { QueryClient } from '@tanstack/react-query'
import { isProblem } from './problem.ts'

/** A refusal is final; only a server that is out of reach or failing is asked again. */
const retry = (failures: number, error: Error): boolean =>
  failures < 2 && isProblem(error) && (error.status === 0 || error.status >= 500)

export const queries = new QueryClient({
  defaultOptions: { queries: { staleTime: 15_000, retry, refetchOnWindowFocus: true }, mutations: { retry: false } },
})
