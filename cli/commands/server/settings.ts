import { listSettingsCommand, updateSettingCommand } from '../../../src/features/settings/control.ts'
import type { Setting, SettingField } from '../../../src/features/settings/schema.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

type Options = CommonOptions & { json?: boolean }

const displaySetting = (value: unknown): string => {
  if (value === null || value === undefined) return '(not set)'
  if (typeof value !== 'object') return safeLine(String(value))
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : safeLine(value.join(', '))
  if (!('last4' in value)) return safeLine(JSON.stringify(value))
  const { set, last4 } = value as { set: boolean; last4: string | null }
  return set ? safeLine(`(set, ends with ${last4})`) : '(not set)'
}

const settingLines = ({ key, values, fields }: Setting): string[] =>
  fields.map(({ name }) => `${key}.${name} = ${displaySetting(values[name])}`)

/** Lists every setting of the instance with its value; with a key, also what each field means. */
export async function listSettings(key: string | undefined, { json, ...common }: Options): Promise<void> {
  const { items } = await runControlCommand(loadSettings(common), listSettingsCommand, {})
  if (key === undefined) return printResult(json, { items }, ...items.flatMap(settingLines))
  const found = findSetting(items, key)
  printResult(json, found, ...settingLines(found), '', ...found.fields.map(({ name, about }) => `${name}: ${about}`))
}

function findSetting(items: readonly Setting[], key: string): Setting {
  const found = items.find((item) => item.key === key)
  if (!found) throw new Refusal(`Unknown setting ${key}. Settings: ${items.map((i) => i.key).join(', ')}`)
  return found
}

/** Changes one field. Without a value, reads it from standard input, which other users of the computer cannot see. */
export async function setSetting(path: string, given: string | undefined, { json, ...common }: Options): Promise<void> {
  const value = given ?? (await Bun.stdin.text()).replace(/\r?\n$/, '')
  await changeSetting(path, (field) => parseSetting(field, value), json, common)
}

export const unsetSetting = (path: string, { json, ...common }: Options): Promise<void> =>
  changeSetting(path, () => null, json, common)

async function changeSetting(
  path: string,
  valueFor: (field: SettingField) => unknown,
  json: boolean | undefined,
  common: CommonOptions,
): Promise<void> {
  const config = loadSettings(common)
  const [key = '', name = ''] = path.split('.')
  const { fields } = findSetting((await runControlCommand(config, listSettingsCommand, {})).items, key)
  const field = fields.find((one) => one.name === name)
  if (!field) throw new Refusal(`${key} has no field ${name}. Its fields are: ${fields.map((f) => f.name).join(', ')}`)
  const after = await runControlCommand(config, updateSettingCommand, { key, patch: { [name]: valueFor(field) } })
  printResult(json, after, `${key}.${name} = ${displaySetting(after.values[name])}`)
}

function parseSetting({ name, type }: SettingField, text: string): unknown {
  if (type === 'list') return text.split(',').flatMap((part) => part.trim() || [])
  if (type === 'table') return parseTable(name, text)
  if (type !== 'flag') return text
  if (text === 'on' || text === 'true') return true
  if (text === 'off' || text === 'false') return false
  throw new Refusal(`${name} must be on or off, not ${JSON.stringify(text)}.`)
}

function parseTable(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(`${name} must be a JSON object, such as {"starter":{"members":5,"projects":3}}.`)
  }
}
