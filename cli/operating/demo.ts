import type { Ctx } from '../../src/action.ts'
import type { Config } from '../../src/config.ts'
import type { JobDefinition } from '../../src/jobs/definition.ts'
import type { App } from '../../src/services.ts'
import { Refusal } from '../terminal/refusal.ts'
import { type CommonOptions, loadSettings } from './settings.ts'

/**
 * Returns the settings of a demo. Its folder is its own or given with --data-dir, and its database is embedded: the
 * environment and the configuration file name the places of a real installation. It sends nothing, because its people
 * and hosts exist nowhere. Its statements may take a minute, because a slow or busy machine needs more than the default
 * to store five weeks of work.
 */
export const demoSettings = (options: CommonOptions): Config => ({
  ...loadSettings({ ...options, dataDir: options.dataDir ?? './tutti-demo' }),
  DB_CONNECTION: 'pglite',
  DATABASE_URL: undefined,
  LISTEN_URL: undefined,
  DATABASE_READ_URL: undefined,
  BACKUP_DIR: undefined,
  SMTP_URL: undefined,
  OUTBOUND: 'off',
  DB_STATEMENT_TIMEOUT_MS: 60_000,
})

/** Returns a clock that always shows this time. */
export function stoppedClock(at: string, demo = false): () => Date {
  if (!demo) throw new Refusal('--at needs --demo: only the clock of a demo can be stopped.', 2)
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) throw new Refusal('--at must be a time, such as 2026-11-17T16:12:00Z.', 2)
  return () => new Date(time)
}

/**
 * Prepares the database of a starting server. Withdraws the sign-in link of a demo that crashed. With `demo`, creates
 * the demo unless it exists, and returns the path of a sign-in link.
 */
export async function prepareDemo(ctx: Ctx, demo = false): Promise<string | undefined> {
  await withdrawDemoLink(ctx)
  if (!demo) return undefined
  console.log('Preparing the demo…')
  return (await import('../../seeds/index.ts')).openDemo(ctx, {})
}

/** Returns the jobs that let the agents of a demo work. A demo with a stopped clock has none: it shows one moment. */
export const demoJobs = async (): Promise<JobDefinition<App>[]> => [
  (await import('../../seeds/demo/life/index.ts')).demoLife,
]

/** Lets the agents of a demo continue at once after a restart. */
export async function resumeDemo(app: App): Promise<void> {
  await (await import('../../seeds/demo/life/index.ts')).playMinute(app)
}

/** Ends the printed link with the server that printed it. */
export async function withdrawDemoLink(ctx: Ctx): Promise<void> {
  await (await import('../../src/features/codes/service.ts')).withdrawLinks(ctx, {})
}

export const demoText = ({ DATA_DIR }: Config, link: string): string => `
This is a demo: a fictional team with five weeks of work. It sends no mail and makes no requests to other hosts.
All its data is in ${DATA_DIR}. Delete that folder when you are done.
Open this link, which works once, to sign in as Ada:

  ${link}
`
