import { command } from '../../control/command.ts'
import type { User } from '../users/schema.ts'
import type { Login, Register } from './schema.ts'

export const createAdminCommand = command<Register, User>('accounts.createAdmin', { createsDatabase: true })
export const setPasswordCommand = command<Login, User>('accounts.setPassword')
