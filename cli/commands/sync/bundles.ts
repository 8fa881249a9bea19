import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { keyFingerprint, openBundle } from '../../../src/auth/bundle.ts'
import { AppError } from '../../../src/errors.ts'
import { changeProfiles, type Profile, parseServer, selectProfile, signedInClient } from '../../api/profiles.ts'
import { readBundle, writeBundle } from '../../copy/bundles.ts'
import { copyOwner, signedInOrCarried } from '../../copy/client.ts'
import { Copy } from '../../copy/copy.ts'
import { hasCopy, type Owner } from '../../copy/owner.ts'
import { confirm, pluralize, printNote, printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import type { SyncOptions } from './sync.ts'

interface FileOptions extends SyncOptions {
  force?: boolean
  yes?: boolean
}

function writeNewFile(path: string, bytes: Uint8Array, force: boolean | undefined): void {
  if (existsSync(path) && !force) throw new Refusal(`${path} already exists. Use --force to replace it.`, 5)
  writeFileSync(path, bytes, { mode: 0o600, flush: true })
}

/** Returns the profile to export from. A computer that never reaches the server gets one without a sign-in. */
async function exportProfile(where: SyncOptions): Promise<{ name: string; profile: Profile }> {
  const found = selectProfile(where)
  if (found && (found[1].token || found[1].kind === 'carried')) return signedInOrCarried(where)
  if (where.server === undefined)
    throw new Refusal('Name the server that the bundle is for: --server tutti.example.com', 3)
  const server = parseServer(where.server)
  const name = where.profile ?? new URL(server).host
  const profile: Profile = { server, kind: 'carried' }
  await changeProfiles((profiles) => {
    profiles.all.set(name, profile)
    profiles.current ??= name
  })
  return { name, profile }
}

export async function exportBundle(path: string, { json, force, ...where }: FileOptions): Promise<void> {
  const who = await exportProfile(where)
  const owner = copyOwner(who)
  if (!owner)
    throw new Refusal(
      'This API key has no permission to read its user, so it cannot have a copy. Sign in: tutti login',
      3,
    )
  const copy = new Copy(owner)
  const { file, number, changes } = writeBundle(copy, { server: owner.server, user: who.profile.user?.email ?? '' })
  const { head } = openBundle(file)
  writeNewFile(path, file, force)
  printResult(
    json,
    {
      path,
      number,
      changes,
      device: head.device,
      fingerprint: keyFingerprint(head.device),
      sealed: head.sealed !== undefined,
    },
    `Wrote bundle ${number} with ${pluralize(changes, 'change')} to ${path}.`,
    `Key of this computer: ${keyFingerprint(head.device)}`,
  )
  if (!json)
    printNote(
      'On a computer that reaches the server, run: tutti sync carry <this file> <response file>. Then run here: tutti sync import',
    )
  if (head.sealed === undefined && !json)
    printNote(
      'This first bundle only registers this computer. Import the response, then export again to send your changes.',
    )
}

export async function carryBundle(
  from: string,
  to: string,
  { json, force, yes, ...where }: FileOptions,
): Promise<void> {
  const { client, profile } = signedInClient(where)
  const bytes = readFileSync(from)
  const { head } = openBundle(bytes)
  if (head.direction !== 'out') throw new Refusal('This bundle comes from a server. Run: tutti sync import')
  if (existsSync(to) && !force) throw new Refusal(`${to} already exists. Use --force to replace it.`, 5)
  const key = keyFingerprint(head.device)
  const asked = `Let ${safeLine(head.name)} exchange data with ${client.server} as ${profile.user?.email ?? 'you'}?`
  const whose = head.user === '' ? 'someone who has not signed in there' : safeLine(head.user)
  if (!json)
    printNote(
      `Bundle ${head.number} of the computer ${safeLine(head.name)}, used by ${whose}. Key of the computer: ${key}`,
    )
  if (!yes && !(await confirm(asked)))
    throw new Refusal('Nothing was sent. Compare the key with the one that the other computer prints, then use --yes.')
  const answer = await client.post<{ bundle: string; changes: number; records: number }>('/api/sync/carry', {
    bundle: bytes.toString('base64'),
    fingerprint: key,
  })
  const back = Buffer.from(String(answer.bundle), 'base64')
  if (openBundle(back).head.number !== head.number)
    throw new AppError('upstream_failed', `${client.server} returned the response to another bundle.`)
  writeNewFile(to, back, force)
  printResult(
    json,
    { path: to, number: head.number, changes: answer.changes, records: answer.records, fingerprint: key },
    `Sent ${pluralize(answer.changes, 'change')}. The response is in ${to}.`,
  )
  if (!json) printNote('On the other computer, run: tutti sync import <response file>')
}

export async function importBundle(path: string, { json, ...where }: FileOptions): Promise<void> {
  const who = signedInOrCarried(where)
  const owner = copyOwner(who) as Owner | undefined
  if (!owner || !hasCopy(owner))
    throw new Refusal('This computer has not exported a bundle yet. Start with: tutti sync export <file>', 4)
  const copy = new Copy(owner)
  const { user, pinned, changed, receipts, number } = await readBundle(copy, readFileSync(path))
  if (who.profile.kind === 'carried')
    await changeProfiles(({ all }) => {
      const profile = all.get(who.name)
      if (profile) profile.user = { id: user.id, name: user.name, email: user.email }
    })
  const rejected = receipts.filter(({ status }) => status === 'rejected').length
  const conflicts = receipts.filter(({ status }) => status === 'conflict').length
  printResult(
    json,
    { path, number, changed, receipts: receipts.length, conflicts, rejected, pinned: pinned ?? null },
    `Imported bundle ${number}: ${changed} records received, ${receipts.length} of your changes processed.`,
    ...(pinned ? [`Key of the server, required from now on: ${pinned}`] : []),
  )
  if (json) return
  if (conflicts > 0)
    printNote(
      `${conflicts} of your changes conflict with others. Resolve them on a computer that reaches the server: tutti sync conflicts`,
    )
  if (rejected > 0) printNote(`The server rejected ${rejected} of your changes. Show why with: tutti sync rejected`)
}
