import { defaultsCommand, demoCommand } from '../../seeds/control.ts'
import type { Seeded } from '../../seeds/index.ts'
import { control } from '../operating/control.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { print } from '../terminal/output.ts'

export async function seed({
  demo,
  json,
  ...common
}: CommonOptions & { demo?: boolean; json?: boolean }): Promise<void> {
  const config = settingsOf(common)
  const seeded: Seeded = { made: [], kept: [] }
  for (const command of demo ? [defaultsCommand, demoCommand] : [defaultsCommand]) {
    const { made, kept } = await control(config, command, {})
    seeded.made.push(...made)
    seeded.kept.push(...kept)
  }
  print(
    json,
    seeded,
    ...seeded.made.map((what) => `created ${what}`),
    ...seeded.kept.map((what) => `already exists: ${what}`),
  )
}
