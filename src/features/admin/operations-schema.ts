import { Type } from '@sinclair/typebox'
import { bool, instant, int, nullable, object, optional, type Static, TimesInText, text } from '../../schema.ts'

export const Checks = object({
  items: Type.Array(
    object({
      what: text(100, { example: 'disk' }),
      ok: bool(),
      warning: optional(bool({ description: 'Nothing is broken, but the result needs attention' })),
      said: text(20_000, { example: '40 GiB are free' }),
      times: optional(TimesInText),
      advice: optional(text(20_000, { description: 'What to do about it' })),
    }),
  ),
})
export type Checks = Static<typeof Checks>

export const JobList = object({
  items: Type.Array(
    object({
      id: text(100),
      name: text(100, { example: 'mail.send' }),
      state: text(20, { example: 'waiting' }),
      attempts: int({ example: 1 }),
      runAt: instant(),
      error: nullable(text(20_000)),
      createdAt: instant(),
    }),
  ),
})
export type JobList = Static<typeof JobList>

const bytes = int({ max: Number.MAX_SAFE_INTEGER, example: 73_400_320 })
export const BackupList = object({
  folder: nullable(text(4096, { example: '/var/backups/tutti', description: 'null: no backups are scheduled' })),
  everyHours: int({ example: 24 }),
  keep: int({ example: 7 }),
  items: Type.Array(object({ name: text(300), at: instant(), bytes })),
})
export type BackupList = Static<typeof BackupList>
export const BackupMade = object({ name: text(300, { example: 'tutti-2026-11-16T07-00-00Z-1a2b3c4d.backup' }) })

export const ConfigList = object({
  items: Type.Array(
    object({
      name: text(100, { example: 'PORT' }),
      value: nullable(text(4096, { description: 'null: not set. Secrets are hidden' })),
      from: text(40, { example: 'environment' }),
      about: text(1000, { example: 'Port to listen on' }),
    }),
  ),
})
export type ConfigList = Static<typeof ConfigList>
