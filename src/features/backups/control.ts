import type { SavedBackup } from '../../backup/save.ts'
import { command } from '../../control/command.ts'

export const backupCommand = command<{ path: string }, SavedBackup>('backups.make')
