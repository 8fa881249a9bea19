import { command } from '../../control/command.ts'
import type { Finding } from './doctor.ts'

export const checkCommand = command<{ repair?: boolean }, Finding[]>('upkeep.check')
