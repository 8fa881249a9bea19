import { settings } from '../../src/config.ts'
import { features, tools } from '../../src/feature.ts'
import { policyTable } from '../../src/http/policy.ts'
import { print, table } from '../output.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export function showConfig({ json, ...options }: CommonOptions & { json?: boolean }): void {
  const config = settingsOf(options)
  const known = Object.entries(settings) as [keyof typeof settings, { about: string; secret?: true }][]
  const rows = known.map(([name, { about, secret }]) => {
    const value = config[name]
    const unset = value === undefined || (Array.isArray(value) && value.length === 0)
    return { name, value: unset ? null : secret ? '(hidden)' : String(value), from: config.sources[name], about }
  })
  print(
    json,
    { items: rows },
    ...table(rows, [
      { title: 'Setting', of: (r) => r.name },
      { title: 'Value', of: (r) => r.value ?? '(unset)' },
      { title: 'From', of: (r) => r.from },
      { title: 'About', of: (r) => r.about, wide: true },
    ]),
  )
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
