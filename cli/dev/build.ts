/**
 * `bun run build`: dist/tutti for this computer. `bun run build --all`: every target as dist/tutti-<target>, with
 * SHA256SUMS, the SBOM and install.sh. Other targets' runtimes come from the npm registry.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import './prepare.ts'

const root = join(import.meta.dir, '../..')
const dist = join(root, 'dist')
const targets = ['linux-x64', 'linux-x64-baseline', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'windows-x64'] as const
const flags = [
  // Names are not minified: Elysia recognises errors by class names, and without them accepts numbers out of bounds.
  '--compile', '--minify-whitespace', '--minify-syntax', '--sourcemap=none', '--format=esm',
  // Lets each command load only its own part.
  '--splitting', '--asset-naming=[name].[ext]',
  // A .env or bunfig.toml in the folder where the server is started must not change it.
  '--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig',
] // biome-ignore format: a command line

async function compile(outfile: string, target?: string): Promise<void> {
  const started = performance.now()
  // Bytecode works only on the system that builds it, so only the native binary has it.
  const extra = target ? [`--target=bun-${target}`] : ['--bytecode']
  const built = Bun.spawn(
    [
      process.execPath,
      'build',
      ...flags,
      ...extra,
      'cli/index.ts',
      'src/db/embedded/worker.ts',
      'src/embeddings/worker.ts',
      'src/pages/markdown-worker.ts',
      '--outfile',
      outfile,
    ],
    {
      cwd: root,
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  if ((await built.exited) !== 0)
    throw new Error(`building ${outfile} failed\n${await new Response(built.stdout).text()}`)
  const name = outfile.split('/').pop()
  const size = Bun.file(outfile).size || Bun.file(`${outfile}.exe`).size
  console.log(`dist/${name} ${(size / 1e6).toFixed(0)} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

if (!process.argv.includes('--all')) {
  mkdirSync(dist, { recursive: true })
  await compile(join(dist, 'tutti'))
} else {
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  for (const target of targets) await compile(join(dist, `tutti-${target}`), target)
  await Bun.write(join(dist, 'sbom.cdx.json'), Bun.file(join(root, '.cache/sbom.json')))
  await Bun.write(join(dist, 'install.sh'), Bun.file(join(root, 'install.sh')))
  const sums: string[] = []
  for (const file of [...new Bun.Glob('*').scanSync(dist)].sort()) {
    const hash = new Bun.CryptoHasher('sha256')
    for await (const chunk of Bun.file(join(dist, file)).stream()) hash.update(chunk)
    sums.push(`${hash.digest('hex')}  ${file}`)
  }
  await Bun.write(join(dist, 'SHA256SUMS'), `${sums.join('\n')}\n`)
  console.log(sums.join('\n'))
}
