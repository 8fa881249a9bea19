import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { features } from '../src/feature.ts'
import { recordNames } from '../src/records/names.ts'

/** The directions of ARCHITECTURE.md, kept by looking at who imports what. */
const root = join(import.meta.dir, '..')
const scan = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync(root)].sort()
const read = (file: string): Promise<string> => Bun.file(join(root, file)).text()
const transpiler = new Bun.Transpiler({ loader: 'ts' })

/** Also imports of types, which the transpiler drops; our own files as seen from the root. */
async function importsOf(file: string): Promise<[file: string, path: string][]> {
  const text = (await read(file)).replace(/^#!.*/, '')
  const types = [...text.matchAll(/^(?:import|export) [^;'"]*? from '([^']+)'/gm)].map((m) => m[1] as string)
  const paths = new Set([...transpiler.scanImports(text).map((i) => i.path), ...types])
  return [...paths].map((path) => [file, path.startsWith('.') ? normalize(join(dirname(file), path)) : path])
}
/** `.as.ts` is AssemblyScript, which is no TypeScript. */
const sources = scan('{src,cli,seeds}/**/*.ts').filter((file) => !file.endsWith('.as.ts'))
const imports = (await Promise.all(sources.map(importsOf))).flat()
const found = (from: RegExp, to: RegExp): string[] =>
  imports.filter(([f, p]) => from.test(f) && to.test(p)).map((i) => i.join(' → '))
async function lines(files: string[], pattern: RegExp): Promise<string[]> {
  const hits = files.map(async (file) =>
    (await read(file)).split('\n').flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}`] : [])),
  )
  return (await Promise.all(hits)).flat()
}

test('there is something to look at', () => {
  expect(imports.length).toBeGreaterThan(200)
  expect(found(/routes\.ts$/, /service\.ts$/).length).toBeGreaterThan(3)
  expect(found(/service\.ts$/, /^drizzle-orm/).length).toBeGreaterThan(3)
})

test('routes, tools and other surfaces never touch tables', () => {
  expect(found(/^src\/features\/.*\/(routes|tools)\.ts$/, /table\.ts$|^drizzle|^src\/db\//)).toEqual([])
  expect(found(/^src\/(http|mcp)\/|^cli\/(?!dev)|^seeds\//, /table\.ts$|^drizzle/)).toEqual([])
})

test('services know no surface, and what lies below imports nothing from above', () => {
  const surfaces = /^src\/(http|mcp|ws|web)\/|^cli\/|\/(routes|tools)\.ts$/
  expect(found(/^src\/features\/[^/]+\/(?!routes\.ts|tools\.ts|index\.ts)/, surfaces)).toEqual([])
  expect(
    found(
      /^src\/(auth|db|events|jobs)\/|^src\/(schema|errors|log|text|config)\.ts$/,
      /^src\/(features|http|mcp|ws)\/|^cli\//,
    ),
  ).toEqual([])
  expect(found(/^src\/live\//, /^src\/(features|http|mcp|ws)\//)).toEqual([])
  expect(found(/^src\//, /^(cli|test)\//)).toEqual([])
})

test('a feature imports only features listed above it, and nothing else in src imports a feature', async () => {
  const contents = await read('src/features/index.ts')
  const order = [...contents.matchAll(/from '\.\/([\w-]+)\/index\.ts'/g)].map((m) => m[1] as string)
  const found = new Set<string>()
  for (const [file, path] of imports) {
    const target = /^src\/features\/([\w-]+)\//.exec(path)?.[1]
    const [root, room = '', feature = ''] = file.split('/')
    if (!target || root !== 'src' || ['app.ts', 'feature.ts', 'web'].includes(room)) continue
    if (room !== 'features') found.add(`${room} → ${target}`)
    else if (feature !== 'index.ts' && order.indexOf(feature) < order.indexOf(target))
      found.add(`${feature} → ${target}: in src/features/index.ts, ${feature} must come after ${target}`)
  }
  expect([...found]).toEqual([])
})

test('the dashboard takes only types from the server, and its components know no API', async () => {
  const files = scan('src/web/**/*.{ts,tsx}')
  expect(files.length).toBeGreaterThan(20)
  const values = /^import (?!type )[^']*'(\.\.\/)+((features|http|mcp|db|auth|events|live)\/|schema\.ts')/
  expect(await lines(files, values)).toEqual([])
  expect(await lines(scan('src/web/components/**/*.{ts,tsx}'), /from '\.\.\/(api|session|queries|routes)/)).toEqual([])
})

test('frameworks stay where they are used', () => {
  expect(found(/^(?!src\/http\/|src\/web\/api\.ts$|src\/feature\.ts$|.*\/routes\.ts$)/, /^elysia/)).toEqual([])
  expect(found(/^(?!src\/mcp\/)/, /^@modelcontextprotocol\//)).toEqual([])
  expect(found(/^(?!src\/db\/embedded\/|cli\/dev\/)/, /^@electric-sql\//)).toEqual([])
})

test('one place reads the environment, and nothing makes SQL of a text', async () => {
  const readers = new Set((await lines(sources, /process\.env|Bun\.env/)).map((at) => at.replace(/:\d+$/, '')))
  expect([...readers].filter((file) => !file.startsWith('cli/dev/'))).toEqual([
    'cli/index.ts',
    'cli/terminal/environment.ts',
    'cli/terminal/report.ts',
    'src/config.ts',
  ])
  expect(await lines(sources, /\bsql\s*\.\s*raw\b/)).toEqual([])
})

test('events are emitted by their definition, and nothing guesses from the text of a type', async () => {
  expect(await lines(sources, /\bemit\(\s*['"`]/)).toEqual([])
  // partsOf and isByHand in the catalogue are the only readers of the text.
  const others = sources.filter((file) => file !== 'src/events/catalogue.ts')
  expect(await lines(others, /\b(event|e|row)\.type\.(startsWith|endsWith|includes|split|slice|match)\(/)).toEqual([])
  expect(await lines(others, /\.test\(\s*((event|e|row)\.)type\b/)).toEqual([])
  expect(await lines(others, /events\.type\}?,? *(!?~|like|'\.')|split_part\([^)]*type/i)).toEqual([])
  // Elsewhere `type` is of an upload or a column; among what handles events it is an event's.
  const handlers = new Set(found(/./, /^src\/events\/|\/events\.ts$/).map((line) => line.split(' ')[0] as string))
  const guessing = /\btype\.(startsWith|endsWith|includes|split|slice|match)\(|\.test\(type\b/
  expect(
    await lines(
      [...handlers].filter((file) => file !== 'src/events/catalogue.ts'),
      guessing,
    ),
  ).toEqual([])
})

test('nobody matches the text of a message, and ways out of an error are data', async () => {
  const method = 'includes|startsWith|endsWith|match|matchAll|replace|replaceAll|search|split|indexOf'
  const matching = [
    new RegExp(`\\b(message|detail)\\)*[!?]?\\.(${method})\\(`),
    /\.(test|exec)\([^)]*\b(message|detail)\b/,
    /\.(message|detail) *[!=]==? *['"`]/,
  ]
  const texts = [...sources, ...scan('src/pages/scripts/*.js')]
  expect((await Promise.all(matching.map((pattern) => lines(texts, pattern)))).flat()).toEqual([])
  // A route in the text of a message would have to be stripped by the surfaces that have none.
  const routeInText = /^(?!\s*(\/?\*|\/\/))(?!.*\b(route|description): ).*(GET|POST|PATCH|PUT|DELETE) \/api/
  expect(await lines(sources, routeInText)).toEqual([])
})

test('the id of every action begins with the name of its folder', async () => {
  const files = sources.filter((file) => file.startsWith('src/features/'))
  const found = files.map(async (file) =>
    [...(await read(file)).matchAll(/\b(?:read|write|flow)\(\s*'([\w-]+)\.\w+'/g)].map(([, name]) => ({ file, name })),
  )
  const actions = (await Promise.all(found)).flat()
  expect(actions.length).toBeGreaterThan(300)
  expect(actions.filter(({ file, name }) => file.split('/')[2] !== name)).toEqual([])
  // An id that is not a literal would escape the check above.
  expect(await lines(files, /(=|=>|return) (read|write|flow)\([a-z`]/)).toEqual([])
})

test('a browser can import the schemas', () => {
  const theirs = /^src\/(schema|errors|text\/(secrets|accepted))\.ts$/
  expect(found(theirs, /compiler|^(node|bun):|^src\/(?!(errors|text\/(secrets|accepted))\.ts$)/)).toEqual([])
})

test('every hook has a name of its own and at least one handler, and every handler a hook', async () => {
  const texts = await Promise.all(sources.filter((file) => file !== 'src/hooks.ts').map(read))
  const declared = texts.flatMap((text) =>
    [...text.matchAll(/= hook<[\s\S]*?>\(\s*'([^']+)'/g)].map((m) => m[1] as string),
  )
  expect(declared.length).toBeGreaterThan(10)
  expect(new Set(declared).size).toBe(declared.length)
  const handled = new Set(features.flatMap((feature) => feature.hooks ?? []).map(({ name }) => name))
  expect([...handled].sort()).toEqual(declared.sort())
})

test('the table of contents names every feature', async () => {
  const contents = await read('src/features/index.ts')
  for (const folder of new Set(scan('src/features/*/*.ts').map((file) => file.split('/')[2] as string))) {
    expect(contents).toContain(`from './${folder}/index.ts'`)
    const index = await read(`src/features/${folder}/index.ts`)
    for (const part of scan(`src/features/${folder}/{routes,tools,jobs}.ts`))
      expect(index).toContain(`from './${part.split('/').pop()}'`)
  }
})

test('no type is forced, except where a library leaves no other way', async () => {
  const forced = await lines(sources, /as unknown as|\) as SQL\b/)
  // drizzle leaves a function of its own out of its types.
  expect(forced.map((at) => at.replace(/:\d+$/, ''))).toEqual(['src/db/session.ts'])
})

/** Files over 300 lines, and why they are not split. Names may only be deleted. */
const longFiles: Record<string, string> = {
  'src/db/embedded/database.ts': 'one state machine: start, restart, close',
}

test('no file has more than 300 lines', async () => {
  const sizes = await Promise.all(
    sources.map(async (file) => [file, (await read(file)).split('\n').length - 1] as const),
  )
  const long = sizes.filter(([, size]) => size > 300).map(([file]) => file)
  expect(long).toEqual(Object.keys(longFiles))
  expect(sizes.filter(([, size]) => size > 420)).toEqual([])
})

/** Files with HTML or text for models in which a line break would be part of the text. */
const wideTexts = [
  'src/features/mail/message.ts',
  'src/features/repositories/agents-text.ts',
  'src/features/search/answer.ts',
  'src/pages/account-pages.ts',
  'src/pages/pages.ts',
]

test('no line is wider than 120 characters, unless it is one message', async () => {
  const message = /^\s*([\w.$]+: |return |[?:+] |const \w+ = )?(['"`]).*\2[,;]?$/
  const wide = sources.map(async (file) =>
    (await read(file))
      .split('\n')
      .flatMap((line, i) => (line.length > 120 && !message.test(line) ? [`${file}:${i + 1}`] : [])),
  )
  const found = (await Promise.all(wide)).flat()
  expect(found.filter((at) => !wideTexts.some((file) => at.startsWith(`${file}:`)))).toEqual([])
})

/** Files that name three kinds of records or more, and why they do not read the names from `records/names.ts`. */
const asked = 'the compiler asks for every kind'
const scopes = 'the compiler asks for every scope of memories'
const levels = 'the levels of a plan'
const fields = 'fields of one object, which are named like kinds'
const listsOfKinds: Record<string, string> = {
  'cli/copy/texts.ts': asked,
  'src/features/memory/tools.ts': fields,
  'src/features/planning/service.ts': levels,
  'src/features/sessions/parts.ts': fields,
  'src/features/sessions/tools.ts': fields,
  'src/features/tasks/schema.ts': fields,
  'src/features/tasks/views.ts': fields,
  'src/features/transfer/entities.ts': asked,
  'src/mcp/former-names.ts': fields,
  'src/web/live.ts': asked,
  'src/web/routes/agent/words.ts': scopes,
  'src/web/routes/memories/words.ts': scopes,
  'src/web/routes/memory/words.ts': scopes,
  'src/web/routes/plan/model.ts': levels,
  'src/web/routes/plan/words.ts': levels,
  'src/web/routes/task/place.tsx': levels,
  'src/web/routes/task/words.ts': fields,
  'src/web/words.ts': asked,
}

/** Returns whether a text has an array, a union or an object whose values or keys are the names of three kinds. */
function listsKinds(text: string): boolean {
  const name = `(${recordNames.join('|')})`
  const inQuotes = new RegExp(`'${name}'`, 'g')
  const areKinds = (found: string, item: RegExp): boolean => new Set(found.match(item)).size > 2
  const has = (list: RegExp, item: RegExp): boolean => (text.match(list) ?? []).some((found) => areKinds(found, item))
  if (!areKinds(text, new RegExp(`\\b${name}\\b`, 'g'))) return false
  // The formatter indents all keys of an object alike; what is in between is indented further.
  const keysAt = (indent: string): boolean =>
    has(new RegExp(`^${indent}\\w+:.*(?:\\n${indent}.*)*`, 'gm'), new RegExp(`^${indent}${name}:`, 'gm'))
  return (
    has(/\[[^[\](){}]*\]/g, inQuotes) ||
    has(/'\w+'(?:\s*\|\s*'\w+')+/g, inQuotes) ||
    has(/\{[^{}\n]*\}/g, new RegExp(`\\b${name}: `, 'g')) ||
    [2, 4, 6, 8].some((n) => keysAt(' '.repeat(n)))
  )
}

test('lists of kinds of records are read from the list of kinds', async () => {
  expect(listsKinds("const a = ['note', 'x', 'task', 'spec']")).toBe(true)
  expect(listsKinds("type A = 'note' | 'task' | 'spec'")).toBe(true)
  expect(listsKinds('const a = { note: 1, task: 2, spec: 3 }')).toBe(true)
  expect(listsKinds('const a = {\n  note: {\n    b: 1,\n  },\n  task: {},\n  spec: {},\n}')).toBe(true)
  expect(listsKinds("const a = ['note', 'task']\nconst b = ['spec']")).toBe(false)
  const files = [...sources, ...scan('src/web/**/*.tsx')].filter((file) => file !== 'src/records/names.ts')
  const texts = await Promise.all(files.map(async (file) => [file, await read(file)] as const))
  const found = texts.filter(([, text]) => listsKinds(text)).map(([file]) => file)
  expect(found.sort()).toEqual(Object.keys(listsOfKinds))
})

test('no test is switched off', async () => {
  expect(await lines(scan('test/**/*.ts'), /\b(test|it|describe)\.(only|skip|todo)\(/)).toEqual([])
})

test.each([
  ['elysia', '1.4.27'],
  ['@modelcontextprotocol/sdk', '1.26.0'],
  ['@modelcontextprotocol/server', '2.4.0'],
  ['drizzle-orm', '0.45.2'],
])('%s is at least %s', async (name, floor) => {
  const versions = [...(await read('bun.lock')).matchAll(new RegExp(`\\["${name}@([^"]+)"`, 'g'))].map(
    (m) => m[1] as string,
  )
  expect(versions.length).toBeGreaterThan(0)
  expect(versions.filter((version) => Bun.semver.order(version, floor) < 0)).toEqual([])
})

test('what runs on Postgres only at night exists', async () => {
  const [, section = ''] = (await Bun.file('test/README.md').text()).split('## Only with')
  const rows = section.split('\n## ')[0]?.match(/^\|.*\|$/gm) ?? []
  const named = rows.flatMap((row) => row.match(/(?<=`)[a-z]+\/[a-z-]*(?=`)/g) ?? [])
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !existsSync(`test/${name}${name.endsWith('/') ? '' : '.test.ts'}`))).toEqual([])
})
