import { join, resolve } from 'node:path'
import { installInto } from '../full/install.ts'
import { cpuSeconds, type Process, start } from './processes.ts'
import { newFolder } from './world.ts'

const folder = resolve(import.meta.dir, '../../.cache/pouchdb')

/** How long something took: elapsed, and the CPU time of client and server together. */
export interface Took {
  ms: number
  cpuMs: number
}

export interface Pouch {
  server: Process
  /** Copies everything to a new place. */
  firstSync(): Promise<Took>
}

/** PouchDB 9 behind express-pouchdb on Node, with this many documents. */
export async function pouchDb(documents: number): Promise<Pouch> {
  await installInto('pouchdb', { pouchdb: '9.0.0', 'express-pouchdb': '4.2.0', express: '4.21.2' })
  const script = (name: string) => join(import.meta.dir, name)
  const server = await start(['node', script('pouch-server.mjs'), folder, newFolder(), String(documents)], {})
  return {
    server,
    firstSync: async () => {
      const before = cpuSeconds(server.pid)
      const child = Bun.spawn(['node', script('pouch-client.mjs'), folder, server.url, newFolder()], { stdout: 'pipe' })
      const took = JSON.parse(await new Response(child.stdout).text()) as Took & { docs: number }
      if (took.docs !== documents) throw new Error(`PouchDB copied ${took.docs} documents`)
      return { ms: took.ms, cpuMs: took.cpuMs + (cpuSeconds(server.pid) - before) * 1000 }
    },
  }
}
