/**
 * Builds the dashboard into one file that is embedded in the binary: `.cache/web.pack`. It starts with the length of an
 * index, then the index as JSON, then the contents: each file as it is and, where that pays, compressed in advance.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { BunPlugin } from 'bun'
import type { PackedFile } from '../../src/pages/pack.ts'

const root = join(import.meta.dir, '../..')
const source = join(root, 'src/web')
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

/** Fast when nothing has changed. */
export async function ensureWeb(): Promise<void> {
  const hash = inputHash()
  if ((await textOf(hashPath)) === hash && (await Bun.file(packPath).exists())) return
  await bundle()
  await pack()
  await Bun.write(hashPath, hash)
}

async function bundle(): Promise<void> {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  await Bun.build({
    entrypoints: [join(source, 'index.html')],
    outdir: out,
    target: 'browser',
    minify: true,
    splitting: true,
    publicPath: '/',
    plugins: [fonts],
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: {
      entry: '[dir]/[name].[ext]',
      chunk: 'web/[name]-[hash].[ext]',
      asset: 'web/[name]-[hash].[ext]',
    },
  })
  for (const name of new Bun.Glob('*').scanSync(join(source, 'fonts')))
    await Bun.write(join(out, 'fonts', name), Bun.file(join(source, 'fonts', name)))
  await preload()
}

/** Bun does not tell the browser which chunks the first one imports, so they would be loaded one after the other. */
async function preload(): Promise<void> {
  const page = join(out, 'index.html')
  const html = await Bun.file(page).text()
  const entry = /<script[^>]+src="(\/web\/[^"]+\.js)"/.exec(html)?.[1]
  if (!entry) throw new Error('The dashboard has no script.')
  const found = new Set<string>()
  const visit = (path: string): void => {
    const text = readFileSync(join(out, path), 'utf8')
    for (const [, next] of text.matchAll(/(?:from|import)"(\/web\/[^"]+\.js)"/g)) {
      if (!next || found.has(next)) continue
      found.add(next)
      visit(next)
    }
  }
  visit(entry)
  const links = [
    '<link rel="icon" href="/assets/icon.svg">',
    '<link rel="preload" as="font" type="font/woff2" crossorigin href="/fonts/inter-latin-5.3.0.woff2">',
    ...[...found].map((path) => `<link rel="modulepreload" crossorigin href="${path}">`),
  ]
  await Bun.write(page, html.replace('</head>', `${links.join('')}</head>`))
}

async function pack(): Promise<void> {
  const index: PackedFile[] = []
  const bodies: Uint8Array[] = []
  let offset = 0
  const add = (bytes: Uint8Array): [number, number] => {
    bodies.push(bytes)
    offset += bytes.length
    return [offset - bytes.length, offset]
  }
  for (const name of [...new Bun.Glob('**/*').scanSync(out)].sort()) {
    const raw = await Bun.file(join(out, name)).bytes()
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
    'cli/dev/web.ts',
  ]
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

const textOf = (path: string): Promise<string | undefined> =>
  Bun.file(path)
    .text()
    .catch(() => undefined)
