import { loadDefaults, loadDemo } from '../../seeds/index.ts'
import type { Action } from '../action.ts'
import { features } from '../feature.ts'

const offered: Action<never, unknown>[] = [...features.flatMap(({ control }) => control ?? []), loadDefaults, loadDemo]

/** The actions that the command line may run in a server through its control socket, by their ids. */
export const controlActions: ReadonlyMap<string, Action<never, unknown>> = new Map(
  offered.map((action) => [action.id, action]),
)
