import { command } from '../../control/command.ts'
import type { Setting, SettingList, SettingPatch } from './schema.ts'

export const listSettingsCommand = command<Record<string, never>, SettingList>('settings.list')
export const updateSettingCommand = command<{ key: string; patch: SettingPatch }, Setting>('settings.update')
