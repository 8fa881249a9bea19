import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { freePort } from '../support/binary.ts'
import { type Process, start } from './processes.ts'
import { call } from './world.ts'

const MIRROR = process.env.DEBIAN_MIRROR ?? 'http://deb.debian.org/debian'
const password = 'violet anchor prefers rain'

export interface PocketBase {
  server: Process
  version: string
  /** The address at which records are created. */
  records: string
  /** Of an ordinary user, who may create records. */
  token: string
  userId: string
}

/**
 * PocketBase from Debian sid with a collection like our notes. As shipped it does not wait for the disk; here it does,
 * as the embedded database does. Throws where the package cannot be had.
 */
export async function pocketBase(folder: string): Promise<PocketBase> {
  const { program, version } = await unpacked()
  const [data, hooks] = [join(folder, 'data'), join(folder, 'hooks')]
  mkdirSync(hooks, { recursive: true })
  await Bun.write(
    join(hooks, 'durable.pb.js'),
    `onBootstrap((e) => {
      e.next()
      $app.nonconcurrentDB().newQuery('PRAGMA synchronous = FULL').execute()
    })`,
  )
  await $`${program} superuser upsert root@example.com ${password} --dir ${data}`.quiet()
  const args = ['--http', `127.0.0.1:${freePort()}`, '--dir', data, '--hooksDir', hooks, '--hooksWatch=false']
  const server = await start([program, 'serve', ...args], {})
  const signIn = async (collection: string, identity: string) =>
    call<{ token: string; record: { id: string } }>(server, `/api/collections/${collection}/auth-with-password`, {
      body: { identity, password },
    })
  const root = (await signIn('_superusers', 'root@example.com')).token
  const signedIn = '@request.auth.id != ""'
  const notes = {
    name: 'notes',
    type: 'base',
    createRule: signedIn,
    viewRule: signedIn,
    listRule: signedIn,
    fields: [
      { name: 'title', type: 'text' },
      { name: 'content', type: 'text' },
      { name: 'tags', type: 'json' },
      { name: 'owner', type: 'relation', collectionId: '_pb_users_auth_' },
      { name: 'created', type: 'autodate', onCreate: true },
      { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
    ],
    indexes: ['CREATE INDEX notes_updated ON notes (owner, updated)'],
  }
  await call(server, '/api/collections', { body: notes, token: root })
  const ada = { email: 'ada@example.com', password, passwordConfirm: password }
  await call(server, '/api/collections/users/records', { body: ada, token: root })
  const user = await signIn('users', ada.email)
  const records = `${server.url.replace(/\/$/, '')}/api/collections/notes/records`
  return { server, version, records, token: user.token, userId: user.record.id }
}

/** Keeps the program in the folder for temporary files, for the next run. */
async function unpacked(): Promise<{ program: string; version: string }> {
  if (process.platform !== 'linux') throw new Error('its package is for Linux')
  const arch = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const list = await $`xz -dc < ${new Response(await download(`dists/sid/main/binary-${arch}/Packages.xz`))}`.quiet()
  const entry = /^Package: pocketbase\n[\s\S]*?\n\n/m.exec(list.text())?.[0] ?? ''
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(entry)?.[1] ?? ''
  const version = field('Version')
  if (!version) throw new Error('Debian sid has no package of it')
  const folder = join(tmpdir(), `tutti-pocketbase-${version}`)
  if (!existsSync(folder)) {
    const deb = await download(field('Filename'))
    if (new Bun.CryptoHasher('sha256').update(deb).digest('hex') !== field('SHA256'))
      throw new Error('its package is damaged')
    const fresh = mkdtempSync(join(tmpdir(), 'tutti-pocketbase-'))
    await Bun.write(join(fresh, 'it.deb'), deb)
    await $`dpkg-deb -x ${join(fresh, 'it.deb')} ${fresh}`.quiet()
    renameSync(fresh, folder)
  }
  // The name of the program in the package.
  return { program: join(folder, 'usr/bin/base'), version: version.replace(/[+-].*/, '') }
}

async function download(path: string): Promise<ArrayBuffer> {
  const response = await fetch(`${MIRROR}/${path}`)
  if (!response.ok) throw new Error(`${MIRROR}/${path} answered ${response.status}`)
  return response.arrayBuffer()
}
