import { Type } from '@sinclair/typebox'
import {
  array,
  bool,
  email,
  instant,
  int,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
} from '../../schema.ts'

const key = text(40, { example: 'general' })
const names = (description: string) => array(text(40, { example: 'siteName' }), 50, { description })

export const SettingField = object({
  name: text(40, { example: 'siteName' }),
  about: text(300, { example: 'The name of the site, in titles and the feed.' }),
  type: oneOf(['text', 'flag', 'choice', 'list', 'time', 'secret', 'table'], { example: 'text' }),
  choices: optional(array(text(40, { example: 'before' }), 20)),
  public: bool({ description: 'Everyone can read it' }),
  fixedBy: nullable(text(60, { example: 'REGISTRATION', description: 'The environment variable that sets it' })),
})
export type SettingField = Static<typeof SettingField>

export const Setting = object({
  key,
  about: text(300, { example: 'Name and address of this site' }),
  values: jsonObject({
    description: 'The current values. For a secret: only whether it is set, and its last characters',
  }),
  defaults: jsonObject({ description: 'The defaults of fields that are not set' }),
  stored: names('The fields that were set'),
  fields: Type.Array(SettingField),
  version: int({ example: 1, description: '0: never stored' }),
  updatedAt: nullable(instant()),
})
export type Setting = Static<typeof Setting>
export const SettingList = object({ items: Type.Array(Setting) })
export type SettingList = Static<typeof SettingList>

/** The fields of the key, as the registry describes them. Null resets a field to its default. */
export const SettingPatch = jsonObject({ description: 'The fields to change; null returns one to its default' })
export type SettingPatch = Static<typeof SettingPatch>

export const SettingByKey = object({ key: text(100, { example: 'general' }) })

export const Seeded = object({
  seeded: Type.Array(key, { description: 'Keys whose defaults were stored' }),
  kept: Type.Array(key, { description: 'Keys that were stored before' }),
})
export type Seeded = Static<typeof Seeded>

export const TestEmail = object({ to: optional(email()) })
export type TestEmail = Static<typeof TestEmail>
export const TestEmailSent = object({
  mode: oneOf(['smtp', 'outbox']),
  delivered: bool({ description: 'The mail server accepted it' }),
  error: nullable(text(500, { example: 'Connection refused' })),
})
export type TestEmailSent = Static<typeof TestEmailSent>

export const PublicSetting = object({ key, values: jsonObject({ description: 'Its public fields' }) })
export type PublicSetting = Static<typeof PublicSetting>
