import type { Ctx } from '../../src/action.ts'
import type { Config } from '../../src/config.ts'
import { Refusal } from '../terminal/refusal.ts'
import { type CommonOptions, settingsOf } from './settings.ts'

/** A demo has a folder of its own and sends nothing: its people and hosts exist nowhere. */
export function demoSettings(options: CommonOptions): Config {
  const given = settingsOf(options)
  const config = given.sources.DATA_DIR === 'default' ? settingsOf({ ...options, dataDir: './tutti-demo' }) : given
  return { ...config, SMTP_URL: undefined, OUTBOUND: 'off' }
}

/** Returns a clock that always shows this time. */
export function stoppedClock(at: string, demo = false): () => Date {
  if (!demo) throw new Refusal('--at needs --demo: only the clock of a demo can be stopped.', 2)
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) throw new Refusal('--at takes an instant, such as 2026-11-17T16:12:00Z.', 2)
  return () => new Date(time)
}

/** Creates the demo, unless it is there, and returns the path of a link that signs the visitor in. */
export async function openDemo(ctx: Ctx): Promise<string> {
  console.log('Preparing the demo…')
  return (await import('../../seeds/index.ts')).openDemo(ctx, {})
}

/** Ends the printed link with the server that printed it. */
export async function closeDemo(ctx: Ctx): Promise<void> {
  const { visitor } = await import('../../seeds/index.ts')
  const { withdrawLink } = await import('../../src/features/codes/service.ts')
  await withdrawLink(ctx, { email: visitor.email })
}

export const demoText = ({ DATA_DIR }: Config, link: string): string => `
This is a demo: a fictional team with five weeks of work behind it. It sends nothing, and all its data is in
${DATA_DIR}, which you can delete when you are done.
Open this link, which works once, to sign in as Ada:

  ${link}
`
