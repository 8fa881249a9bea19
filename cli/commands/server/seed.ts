import { defaultsCommand, demoCommand } from '../../../seeds/control.ts'
import type { Seeded } from '../../../seeds/index.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printResult } from '../../terminal/output.ts'

export async function loadSeeds({
  demo,
  json,
  ...common
}: CommonOptions & { demo?: boolean; json?: boolean }): Promise<void> {
  const config = loadSettings(common)
  const seeded: Seeded = { made: [], kept: [] }
  for (const command of demo ? [defaultsCommand, demoCommand] : [defaultsCommand]) {
    const { made, kept } = await runControlCommand(config, command, {})
    seeded.made.push(...made)
    seeded.kept.push(...kept)
  }
  printResult(
    json,
    seeded,
    ...seeded.made.map((what) => `created ${what}`),
    ...seeded.kept.map((what) => `already exists: ${what}`),
  )
}
