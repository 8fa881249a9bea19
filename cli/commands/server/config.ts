import { events, features, tools } from '../../../src/all-features.ts'
import { type Config, settings } from '../../../src/config.ts'
import { dataFields } from '../../../src/events/catalogue.ts'
import { policyTable, routeTable } from '../../../src/server/policy.ts'
import { hideCredentials } from '../../../src/text/setting-values.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { type Column, printResult, tableLines } from '../../terminal/output.ts'

type Name = keyof typeof settings

export function showConfig({ json, ...options }: CommonOptions & { json?: boolean }): void {
  const config = loadSettings(options)
  const items = (Object.keys(settings) as Name[]).map((name) => ({
    name,
    value: displayConfigValue(config, name),
    from: config.sources[name],
    about: settings[name].about,
  }))
  // A narrow terminal has no room for descriptions.
  const wide = !process.stdout.isTTY || process.stdout.columns >= 120
  const columns: Column<(typeof items)[number]>[] = [
    { title: 'Setting', of: (r) => r.name },
    { title: 'Value', of: (r) => r.value ?? '(unset)', ...(!wide && { wide: true }) },
    { title: 'Source', of: (r) => r.from },
    ...(wide ? [{ title: 'Description', of: (r: { about: string }) => r.about, wide: true } as const] : []),
  ]
  printResult(json, { file: config.file ?? null, items }, ...tableLines(items, columns))
}

/** Hides secrets. An address that contains a password is shown without it. */
function displayConfigValue(config: Config, name: Name): string | null {
  const value = config[name]
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return null
  const text = hideCredentials(String(value))
  return 'secret' in settings[name] && settings[name].secret && !name.endsWith('_URL') ? '(hidden)' : text
}

export function showPolicy({ json }: { json?: boolean }): void {
  const items = policyTable(features, tools)
  printResult(
    json,
    { items },
    ...tableLines(items, [
      { title: 'Where', of: (r) => r.surface, wide: true },
      { title: 'Action', of: (r) => r.action },
      { title: 'Who', of: (r) => r.kinds },
      { title: 'Scope', of: (r) => r.scope },
      { title: 'Role', of: (r) => r.role },
      { title: 'Proof', of: (r) => r.proof },
      { title: 'Bound keys', of: (r) => (r.account ? 'no' : null) },
      { title: 'Limited to projects', of: (r) => (r.limited ? 'yes' : null) },
    ]),
  )
}

export function showRoutes({ json }: { json?: boolean }): void {
  const items = routeTable(features)
  printResult(
    json,
    { items },
    ...tableLines(items, [
      { title: 'Method', of: (r) => r.method },
      { title: 'Path', of: (r) => r.path },
      { title: 'Action', of: (r) => r.action, wide: true },
      { title: 'Who may call it', of: (r) => r.rule, wide: true },
    ]),
  )
}

export function showEvents({ json }: { json?: boolean }): void {
  const items = events
    .map(({ name, kind, description, feed, changes = null, line = null, live = false, data }) => ({
      name,
      kind,
      description,
      feed,
      changes,
      line,
      live,
      data: dataFields(data),
    }))
    .sort((a, b) => a.name.localeCompare(b.name))
  printResult(
    json,
    { items },
    ...tableLines(items, [
      { title: 'Event', of: (r) => r.name },
      { title: 'Description', of: (r) => r.description, wide: true },
      { title: 'Feed', of: (r) => r.feed },
      { title: 'Changes', of: (r) => r.changes ?? '' },
      { title: 'Line', of: (r) => r.line ?? '' },
      { title: 'Live', of: (r) => (r.live ? 'yes' : '') },
      { title: 'Data', of: (r) => r.data.map((f) => `${f.name}${f.optional ? '?' : ''}: ${f.type}`).join(', ') },
    ]),
  )
}
