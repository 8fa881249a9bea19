import { join } from 'node:path'
import { median, type Part } from '../part.ts'

/** What checking a credential adds to a read: in one process and in turn, so that only the check differs. */
export const part: Part = async function* (bench) {
  for (const database of bench.databases) {
    const { env, token, noteId } = await bench.world(database)
    const child = Bun.spawn([process.execPath, join(import.meta.dir, '../credential.ts'), token, noteId], {
      env: { PATH: process.env.PATH, ...env },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const found = JSON.parse(await new Response(child.stdout).text()) as { with: number[]; without: number[] }
    yield {
      what: `checking a credential, share of a read, ${database}`,
      ours: `${median(found.with).toFixed(0)} µs CPU a read`,
      against: `${median(found.without).toFixed(0)} µs without the check`,
      ratio: median(found.with.map((value, i) => 1 - (found.without[i] as number) / value)),
      bar: { most: 0.15 },
    }
  }
}
