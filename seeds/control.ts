import { command } from '../src/control/command.ts'
import type { Seeded } from './index.ts'

export const defaultsCommand = command<Record<string, never>, Seeded>('seeds.defaults', { createsDatabase: true })
export const demoCommand = command<Record<string, never>, Seeded>('seeds.demo', { createsDatabase: true })
