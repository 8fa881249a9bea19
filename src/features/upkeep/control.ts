import { command } from '../../control/command.ts'
import type { Finding } from './finding.ts'

export const checkCommand = command<{ repair?: boolean }, Finding[]>('upkeep.check')
