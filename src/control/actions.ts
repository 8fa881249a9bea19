import { defaultsCommand, demoCommand } from '../../seeds/control.ts'
import { loadDefaults, loadExamples } from '../../seeds/index.ts'
import { features } from '../feature.ts'
import type { Handler } from './command.ts'

const offered: Handler[] = [
  ...features.flatMap(({ control }) => control ?? []),
  defaultsCommand.handle(loadDefaults),
  demoCommand.handle(loadExamples),
]

/** The handlers of all commands that the command line may send to a server, by their names. */
export const handlers: ReadonlyMap<string, Handler> = new Map(offered.map((handler) => [handler.name, handler]))
