import type { AgentClient } from '../../src/clients.ts'
import { confirm } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { parseDays } from '../terminal/times.ts'
import { editSettings, isInGit, readSettings, valueAt } from './settings-file.ts'

/** `--print` shows this instead of a token. */
export const PLACEHOLDER = 'YOUR_TOKEN'

/** Returns the days that `--expires` gives. */
export function parseLifetime(text: string | undefined): number | undefined {
  const days = text === undefined ? undefined : parseDays(text)
  if (text !== undefined && !days) throw new Refusal('--expires must be a number of days, such as 30d or 12w')
  return days
}

/** Returns the token in an entry for one of these addresses, which the new entry replaces. */
export function findSecret(entry: unknown, ...addresses: string[]): string | undefined {
  const text = JSON.stringify(entry) ?? ''
  const isOurs = addresses.some((address) => text.includes(JSON.stringify(address)))
  return isOurs ? /svc_(?:live|test)_\w+/.exec(text)?.[0] : undefined
}

/** Refuses settings that cannot be edited, would publish a token, or have an entry that the user wants to keep. */
export async function checkSettings(
  { path }: Pick<AgentClient, 'path'>,
  file: string,
  { stdio, yes }: { stdio?: boolean; yes?: boolean },
): Promise<void> {
  editSettings(file, path, { url: 'https://tutti.invalid' })
  const taken = `${file} already has a server named ${path.at(-1)}.`
  if (valueAt(readSettings(file), path) !== undefined && !yes && !(await confirm(`${taken} Replace it?`)))
    throw new Refusal(`${taken} Use --yes to replace it, or --print to edit the file yourself.`, 5)
  if (!stdio && !yes && isInGit(file))
    throw new Refusal(
      `${file} is in a git repository, so a token in it could be committed. ` +
        `Use --stdio to keep the token out, or --yes.`,
      5,
    )
}
