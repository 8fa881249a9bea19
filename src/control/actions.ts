import { loadDefaults, loadDemo } from '../../seeds/index.ts'
import type { Action } from '../action.ts'
import { setPassword } from '../features/accounts/passwords.ts'
import * as accounts from '../features/accounts/service.ts'
import { make as makeBackup } from '../features/backups/service.ts'
import { outbox } from '../features/mail/service.ts'
import { check, running } from '../features/upkeep/service.ts'

/** The actions that the command line may run in a server, through its control socket. */
export const controlActions = {
  'accounts.createAdmin': accounts.createAdmin,
  'accounts.setPassword': setPassword,
  'backups.make': makeBackup,
  'mail.outbox': outbox,
  'upkeep.check': check,
  'upkeep.running': running,
  'seeds.defaults': loadDefaults,
  'seeds.demo': loadDemo,
} satisfies Record<string, Action<never, unknown>>

export type ControlAction = keyof typeof controlActions
