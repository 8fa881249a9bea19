import { define, text, texts } from '../../events/catalogue.ts'

/** Every instance reads a setting again after this event. It names fields and never their values. */
export const settingUpdated = define('setting.updated', {
  kind: 'setting',
  feed: 'access',
  description: 'An administrator changed a setting of the instance',
  data: { key: text, fields: texts },
})
export const testMailSent = define('setting.test_mail', {
  kind: 'setting',
  feed: 'access',
  description: 'An administrator sent a test mail',
  data: { mode: text },
})
