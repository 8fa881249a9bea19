import { command } from '../../control/command.ts'
import type { Finding } from './doctor.ts'

export const checkCommand = command<Record<string, never>, Finding[]>('upkeep.check')
