import { listSettingsCommand, updateSettingCommand } from '../../src/features/settings/control.ts'
import type { Setting, SettingField } from '../../src/features/settings/schema.ts'
import { control } from '../operating/control.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

type Options = CommonOptions & { json?: boolean }

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return '(not set)'
  if (typeof value !== 'object') return plain(String(value))
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : plain(value.join(', '))
  if (!('last4' in value)) return plain(JSON.stringify(value))
  const { set, last4 } = value as { set: boolean; last4: string | null }
  return set ? plain(`(set, ends with ${last4})`) : '(not set)'
}

const linesOf = ({ key, values, fields }: Setting): string[] =>
  fields.map(({ name }) => `${key}.${name} = ${shown(values[name])}`)

/** Lists every setting of the instance with its value; with a key, also what each field means. */
export async function listSettings(key: string | undefined, { json, ...common }: Options): Promise<void> {
  const { items } = await control(settingsOf(common), listSettingsCommand, {})
  if (key === undefined) return print(json, { items }, ...items.flatMap(linesOf))
  const found = named(items, key)
  print(json, found, ...linesOf(found), '', ...found.fields.map(({ name, about }) => `${name}: ${about}`))
}

function named(items: readonly Setting[], key: string): Setting {
  const found = items.find((item) => item.key === key)
  if (!found) throw new Refusal(`Unknown setting ${key}. Settings: ${items.map((i) => i.key).join(', ')}`)
  return found
}

/** Changes one field. Without a value, reads it from standard input, which other users of the computer cannot see. */
export async function setSetting(path: string, given: string | undefined, { json, ...common }: Options): Promise<void> {
  const value = given ?? (await Bun.stdin.text()).replace(/\r?\n$/, '')
  await change(path, (field) => parsed(field, value), json, common)
}

export const unsetSetting = (path: string, { json, ...common }: Options): Promise<void> =>
  change(path, () => null, json, common)

async function change(
  path: string,
  valueFor: (field: SettingField) => unknown,
  json: boolean | undefined,
  common: CommonOptions,
): Promise<void> {
  const config = settingsOf(common)
  const [key = '', name = ''] = path.split('.')
  const { fields } = named((await control(config, listSettingsCommand, {})).items, key)
  const field = fields.find((one) => one.name === name)
  if (!field) throw new Refusal(`${key} has no field ${name}. Its fields are: ${fields.map((f) => f.name).join(', ')}`)
  const after = await control(config, updateSettingCommand, { key, patch: { [name]: valueFor(field) } })
  print(json, after, `${key}.${name} = ${shown(after.values[name])}`)
}

function parsed({ name, type }: SettingField, text: string): unknown {
  if (type === 'list') return text.split(',').flatMap((part) => part.trim() || [])
  if (type === 'table') return parsedTable(name, text)
  if (type !== 'flag') return text
  if (text === 'on' || text === 'true') return true
  if (text === 'off' || text === 'false') return false
  throw new Refusal(`${name} must be on or off, not ${JSON.stringify(text)}.`)
}

function parsedTable(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(`${name} must be a JSON object, such as {"starter":{"members":5,"projects":3}}.`)
  }
}
