import type { Fields } from '../mutation.ts'
import type { World } from './world.ts'

export interface LocalCall {
  world: World
  /** The parts of the path that the route leaves open, in order. */
  params: string[]
  query: URLSearchParams
  body: Fields
}

export interface Route {
  method: string
  parts: readonly string[]
  run(call: LocalCall): object
}

/** `route('GET', '/api/notes/:id', …)` */
export const route = (method: string, path: string, run: (call: LocalCall) => object): Route => ({
  method,
  parts: path.split('/'),
  run,
})
