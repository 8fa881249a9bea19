import { settings } from '../../src/config.ts'
import { features, tools } from '../../src/feature.ts'
import { policyTable } from '../../src/http/policy.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export function showConfig(options: CommonOptions): void {
  const config = settingsOf(options)
  for (const [name, { about, secret }] of Object.entries(settings) as [keyof typeof settings, { about: string; secret?: true }][]) {
    const value = config[name]
    const shown = value === undefined || (Array.isArray(value) && value.length === 0) ? '(unset)' : secret ? '(hidden)' : String(value)
    console.log(`${name.padEnd(24)} ${shown.padEnd(32)} ${config.sources[name].padEnd(12)} ${about}`)
  }
}

export function showPolicy(): void {
  for (const row of policyTable(features, tools))
    console.log(
      [
        row.surface.padEnd(52),
        row.action.padEnd(30),
        row.kinds.padEnd(38),
        (row.scope ?? '-').padEnd(22),
        (row.role ?? '-').padEnd(15),
        row.proof ?? '-',
      ].join(' '),
    )
}
