import { defineEvent, text, texts } from '../../events/catalogue.ts'

/** After this event every instance reads the setting again. It contains names of fields, never their values. */
export const settingUpdated = defineEvent('setting.updated', {
  kind: 'setting',
  feed: 'access',
  description: 'An administrator changed a setting of the instance',
  data: { key: text, fields: texts },
  words: (_, { key, fields }) => `changed the setting ${key}${Array.isArray(fields) ? `: ${fields.join(', ')}` : ''}`,
})
export const testMailSent = defineEvent('setting.test_mail', {
  kind: 'setting',
  feed: 'access',
  description: 'An administrator sent a test mail',
  data: { mode: text },
  words: () => 'sent a test mail',
})
