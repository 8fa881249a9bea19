import { join, resolve } from 'node:path'
import { median, type Part } from '../part.ts'
import { newFolder } from '../world.ts'

/** The built-in model on one core, in a compiled program. */
export const part: Part = async function* () {
  const root = resolve(import.meta.dir, '../../..')
  const program = join(newFolder(), 'embed')
  const build = Bun.spawn(
    [process.execPath, 'build', '--compile', 'test/bench/embed.ts', 'src/embeddings/worker.ts', '--outfile', program],
    { cwd: root, stdout: 'ignore', stderr: 'inherit' },
  )
  if ((await build.exited) !== 0) throw new Error('the program could not be compiled')
  const found = JSON.parse(await new Response(Bun.spawn([program]).stdout).text()) as number[]
  yield {
    what: 'texts of 20 words embedded in a second of CPU time',
    ours: `${median(found).toFixed(0)}/s`,
    value: median(found),
    bar: { least: 50, unit: '/s' },
  }
}
