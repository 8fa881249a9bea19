/** The pages of the settings, in the order of their list. Each has its address below `/settings`. */
export const settingsPageNames = [
  'profile',
  'security',
  'passkeys',
  'sessions',
  'keys',
  'grants',
  'accounts',
  'integrations',
  'preferences',
  'notifications',
  'data',
] as const
export type SettingsPage = (typeof settingsPageNames)[number]
