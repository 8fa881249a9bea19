import type { Seeded } from '../../seeds/index.ts'
import { machine } from '../machine.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

export async function seed({ demo, ...common }: CommonOptions & { demo?: boolean }): Promise<void> {
  const config = settingsOf(common)
  for (const name of demo ? (['seeds.defaults', 'seeds.demo'] as const) : (['seeds.defaults'] as const)) {
    const { made, kept } = (await machine(config, name, {})) as Seeded
    for (const what of made) console.log(`made ${what}`)
    for (const what of kept) console.log(`kept ${what}`)
  }
}
