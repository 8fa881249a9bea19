import type { Saved } from '../../backup/save.ts'
import { command } from '../../control/command.ts'

export const makeCommand = command<{ path: string }, Saved>('backups.make')
