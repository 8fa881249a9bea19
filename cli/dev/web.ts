/**
 * Builds the dashboard into one file that is embedded in the binary: `.cache/web.pack`. It starts with the length of an
 * index, then the index as JSON, then the contents: each file as it is and, where that pays, compressed in advance.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { BuildOutput, BunPlugin } from 'bun'
import { minify } from 'oxc-minify'
import type { PackedFile } from '../../src/pages/pack.ts'
import { readTextIfExists } from './seed.ts'
import { type Chunk, joinChunks } from './web-chunks.ts'

const root = join(import.meta.dir, '../..')
const source = join(root, 'src/web')
/** The chunks as Bun makes them, before they are joined. */
const parts = join(root, '.cache/web-parts')
const out = join(root, '.cache/web')
const packPath = join(root, '.cache/web.pack')
const hashPath = join(root, '.cache/web.hash')

/** Bun would put fonts under 128 KB into the style sheet as data, which the content security policy refuses. */
const fonts: BunPlugin = {
  name: 'fonts',
  setup(build) {
    build.onResolve({ filter: /^\/fonts\// }, ({ path }) => ({ path, external: true }))
  },
}

/** What the dashboard and its libraries import from React comes from Preact, which is 48 KB smaller. */
const preactModules: Record<string, string> = {
  react: import.meta.resolve('preact/compat'),
  'react-dom': import.meta.resolve('preact/compat'),
  'react-dom/client': import.meta.resolve('preact/compat/client'),
  'react/jsx-runtime': import.meta.resolve('preact/jsx-runtime'),
}
const preact: BunPlugin = {
  name: 'preact',
  setup(build) {
    build.onResolve({ filter: /^react(-dom)?(\/|$)/ }, ({ path }) => {
      const module = preactModules[path]
      if (!module) throw new Error(`Preact has no module for ${path}.`)
      return { path: Bun.fileURLToPath(module) }
    })
  },
}

/** Leaves out the keys of the parts of icons, which React needs only for lists that change. */
const icons: BunPlugin = {
  name: 'icons',
  setup(build) {
    build.onLoad({ filter: /lucide-react\/dist\/esm\/icons\/[\w-]+\.mjs$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(/,\s*key: "\w+"/g, ''),
      loader: 'js',
    }))
  },
}

const options = { target: 'browser', minify: true, splitting: true } as const

/** Fast when nothing has changed. */
export async function ensureWeb(): Promise<void> {
  const hash = inputHash()
  if ((await readTextIfExists(hashPath)) === hash && (await Bun.file(packPath).exists())) return
  await bundleDashboard()
  await packFiles()
  await Bun.write(hashPath, hash)
}

async function bundleDashboard(): Promise<void> {
  for (const folder of [parts, out]) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
  }
  await Bun.build({
    ...options,
    entrypoints: [join(source, 'index.html')],
    outdir: parts,
    plugins: [icons, preact],
    // Only the files that come out in the end can be loaded ahead.
    modulePreload: false,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[dir]/[name].[ext]', chunk: '[name]-[hash].[ext]' },
  })
  const html = await Bun.file(join(parts, 'index.html')).text()
  const [script, first] = /<script[^>]+src="\.\/([^"]+\.js)"[^>]*><\/script>/.exec(html) ?? []
  if (!script || !first) throw new Error('The dashboard has no script.')
  await writeGroups(first)
  const built = await Bun.build({
    ...options,
    entrypoints: [join(parts, 'shell.js')],
    outdir: out,
    publicPath: '/',
    naming: { entry: 'web/[name]-[hash].[ext]', chunk: 'web/[name]-[hash].[ext]' },
  })
  const links = [
    '<link rel="icon" href="/assets/icon.svg">',
    '<link rel="apple-touch-icon" href="/icons/tutti-touch-180-1.png">',
    '<link rel="manifest" href="/manifest.webmanifest">',
    '<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f1f0f3">',
    '<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0f0f12">',
    '<link rel="preload" as="font" type="font/woff2" crossorigin href="/fonts/inter-latin-400-700-5.3.0.woff2">',
    `<link rel="stylesheet" href="${entryOf(await buildStyles())}">`,
    `<script type="module" crossorigin src="${entryOf(built)}"></script>`,
  ]
  await Bun.write(
    join(out, 'index.html'),
    html.replace(script, '').replace('</head>', () => `${links.join('')}</head>`),
  )
  for (const folder of ['fonts', 'icons'])
    for (const name of new Bun.Glob('*').scanSync(join(source, folder)))
      await Bun.write(join(out, folder, name), Bun.file(join(source, folder, name)))
}

/** For browsers Bun would replace `light-dark()` and logical properties, which makes the style sheet 5 % larger. */
const buildStyles = (): Promise<BuildOutput> =>
  Bun.build({
    entrypoints: [join(source, 'styles/index.css')],
    outdir: out,
    target: 'bun',
    minify: true,
    plugins: [fonts],
    naming: { entry: 'web/[name]-[hash].[ext]' },
  })

function entryOf({ outputs }: BuildOutput): string {
  const [entry] = outputs.filter(({ kind }) => kind === 'entry-point' || kind === 'asset')
  if (!entry) throw new Error('Nothing was built.')
  return `/${relative(out, entry.path)}`
}

/**
 * Writes `shell.js`, which imports the first chunk and what else is loaded with every page, and makes whoever needs one
 * chunk of a group import the whole group: Bun then puts it into one file.
 */
async function writeGroups(first: string): Promise<void> {
  const chunks = new Map<string, Chunk>()
  let home = ''
  for (const name of [...new Bun.Glob('*.js').scanSync(parts)].sort()) {
    const text = readFileSync(join(parts, name), 'utf8')
    const named = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, path]) => path as string)
    if (/\bas HomePage\b/.test(text)) home = name
    chunks.set(name, {
      size: gzipSync(text, { level: 9 }).length,
      imports: named(/(?:from|import)"\.\/([^"]+\.js)"/g),
      loads: named(/import\("\.\/([^"]+\.js)"\)/g),
    })
  }
  const { shell, groups } = joinChunks(chunks, first, home)
  const importing = (names: readonly string[]) => names.map((name) => `import "./${name}";\n`).join('')
  await Bun.write(join(parts, 'shell.js'), importing([first, ...shell]))
  const needs = new Map<string, string[]>()
  for (const [place, { members, neededBy }] of groups.entries()) {
    const group = `group-${place}.js`
    await Bun.write(join(parts, group), importing(members))
    for (const name of neededBy) needs.set(name, [...(needs.get(name) ?? []), group])
  }
  for (const [name, wanted] of needs) {
    const path = join(parts, name)
    await Bun.write(path, importing(wanted) + readFileSync(path, 'utf8'))
  }
}

async function packFiles(): Promise<void> {
  const index: PackedFile[] = []
  const bodies: Uint8Array[] = []
  let offset = 0
  const add = (bytes: Uint8Array): [number, number] => {
    bodies.push(bytes)
    offset += bytes.length
    return [offset - bytes.length, offset]
  }
  for (const name of [...new Bun.Glob('**/*').scanSync(out)].sort()) {
    const raw = name.endsWith('.js') ? await minifyScript(name) : await Bun.file(join(out, name)).bytes()
    const compress = /\.(js|css|html|svg)$/.test(name)
    index.push({
      path: `/${name}`,
      type: Bun.file(name).type,
      etag: Bun.hash(raw).toString(36),
      raw: add(raw),
      ...(compress && { gzip: add(gzipSync(raw, { level: 9 })), br: add(brotli(raw)) }),
    })
  }
  const head = new TextEncoder().encode(JSON.stringify(index))
  await Bun.write(packPath, Buffer.concat([new Uint8Array(new Uint32Array([head.length]).buffer), head, ...bodies]))
}

/** Bun has minified it already; Oxc makes it another 3 % smaller. */
async function minifyScript(name: string): Promise<Uint8Array> {
  const { code, errors } = await minify(name, await Bun.file(join(out, name)).text(), { module: true })
  if (errors[0]) throw new Error(`${name}: ${errors[0].message}`)
  return new TextEncoder().encode(code)
}

const brotli = (bytes: Uint8Array): Uint8Array =>
  brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  })

/** The lock file stands for the libraries, and the features for the types and constants that pages import. */
function inputHash(): string {
  const hash = new Bun.CryptoHasher('sha256')
  const files = [
    ...[...new Bun.Glob('**/*').scanSync(source)].sort().map((name) => join('src/web', name)),
    ...[...new Bun.Glob('src/{records,features/*/}**/*.ts').scanSync(root)]
      .filter((f) => /schema|records/.test(f))
      .sort(),
    'bun.lock',
    'src/text/markdown-limits.ts',
    'src/events/staff-lines.ts',
    'src/paths.ts',
    'src/clients.ts',
    'cli/dev/web.ts',
    'cli/dev/web-chunks.ts',
  ]
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}
