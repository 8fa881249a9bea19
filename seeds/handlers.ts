import type { CommandHandler } from '../src/control/command.ts'
import { defaultsCommand, demoCommand } from './control.ts'
import { loadDefaults, loadExamples } from './index.ts'

/** The commands of seeds, which the command line adds to those of the features. */
export const seedHandlers: readonly CommandHandler[] = [
  defaultsCommand.handle(loadDefaults),
  demoCommand.handle(loadExamples),
]
