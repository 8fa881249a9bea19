import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { events, features } from '../src/all-features.ts'
import { recordNames } from '../src/records/names.ts'

/** Checks the directions of ARCHITECTURE.md by the imports of each file. */
const root = join(import.meta.dir, '..')
const scan = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync(root)].sort()
const read = (file: string): Promise<string> => Bun.file(join(root, file)).text()
const transpilers = { ts: new Bun.Transpiler({ loader: 'ts' }), tsx: new Bun.Transpiler({ loader: 'tsx' }) }

type Import = [file: string, path: string]
/** `.as.ts` is AssemblyScript, not TypeScript. */
const sources = scan('{src,cli,seeds}/**/*.{ts,tsx}').filter((file) => !file.endsWith('.as.ts'))
const values: Import[] = []
/** Also imports of types, which the transpiler drops. */
const imports: Import[] = []
for (const file of sources) {
  const text = (await read(file)).replace(/^#!.*/, '')
  const asSeenFromRoot = (path: string): Import => [
    file,
    path.startsWith('.') ? normalize(join(dirname(file), path)) : path,
  ]
  const loaded = transpilers[file.endsWith('.tsx') ? 'tsx' : 'ts'].scanImports(text).map(({ path }) => path)
  const named = [...text.matchAll(/^(?:import|export) [^;'"]*? from '([^']+)'|\bimport\('([^']+)'\)/gm)]
  values.push(...loaded.map(asSeenFromRoot))
  imports.push(...[...new Set([...loaded, ...named.map((m) => (m[1] ?? m[2]) as string)])].map(asSeenFromRoot))
}
const findImports = (from: RegExp, to: RegExp, among = imports): string[] =>
  among.filter(([f, p]) => from.test(f) && to.test(p)).map((i) => i.join(' → '))
async function findLines(files: string[], pattern: RegExp): Promise<string[]> {
  const hits = files.map(async (file) =>
    (await read(file)).split('\n').flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}`] : [])),
  )
  return (await Promise.all(hits)).flat()
}

/** Returns the hits outside the listed files. A file that is listed and has no hit is an error too. */
async function hitsOutside(listed: Record<string, string>, ...patterns: RegExp[]): Promise<string[]> {
  const hits = (await Promise.all(patterns.map((pattern) => findLines(sources, pattern)))).flat()
  const fileOf = (at: string) => at.replace(/:\d+$/, '')
  const unused = Object.keys(listed).filter((file) => !hits.some((at) => fileOf(at) === file))
  return [...hits.filter((at) => !(fileOf(at) in listed)), ...unused.map((file) => `${file} is listed for nothing`)]
}

test('the checks below see many imports', () => {
  expect(imports.length).toBeGreaterThan(200)
  expect(imports.length).toBeGreaterThan(values.length)
  expect(sources.filter((file) => file.endsWith('.tsx')).length).toBeGreaterThan(20)
  expect(findImports(/routes\.ts$/, /service\.ts$/).length).toBeGreaterThan(3)
  expect(findImports(/service\.ts$/, /^drizzle-orm/).length).toBeGreaterThan(3)
})

test('routes, tools and other surfaces never import tables', () => {
  expect(findImports(/^src\/features\/.*\/(routes|tools)\.ts$/, /table\.ts$|^drizzle|^src\/db\//)).toEqual([])
  expect(findImports(/^src\/(http|mcp|server)\/|^cli\/(?!dev)|^seeds\//, /table\.ts$|^drizzle/)).toEqual([])
})

test('services import no surface, and src imports nothing outside it', () => {
  const surfaces = /^src\/(http|mcp|server|ws|web)\/|^cli\/|\/(routes|tools)\.ts$/
  expect(findImports(/^src\/features\/[^/]+\/(?!routes\.ts|tools\.ts|index\.ts)/, surfaces)).toEqual([])
  expect(findImports(/^src\//, /^(cli|seeds|test)\//)).toEqual([])
  // All other files get what the features offer from `app`.
  expect(findImports(/^src\/(?!app\.ts$)/, /^src\/all-features\.ts$/)).toEqual([])
  // Machines run tunnel/ without a server.
  expect(
    findImports(/^src\/tunnel\//, /^src\/(?!tunnel\/|text\/|(schema|check|errors|version|field-errors)\.ts$)/),
  ).toEqual([])
})

/** The rooms of `src`, from the lowest up: its folders, and the files beside them. A room imports only rooms before it. */
const rooms = [
  ...['env.d.ts', 'text', 'version.ts', 'errors.ts', 'schema.ts', 'field-errors.ts', 'check.ts', 'config.ts', 'log.ts'],
  ...['worker-url.ts', 'cpu-budget.ts', 'clients.ts', 'paths.ts', 'design'],
  ...['db', 'events', 'auth', 'jobs', 'records', 'live', 'embeddings', 'outside', 'tunnel', 'backup'],
  ...['services.ts', 'action.ts', 'hooks.ts', 'live-hooks.ts', 'address.ts', 'thrown.ts', 'command-line.ts'],
  ...['control', 'pages', 'http', 'mcp', 'feature.ts', 'ws', 'server'],
  ...['features', 'all-features.ts', 'app.ts', 'web'],
]

test('a room of src imports only rooms below it', () => {
  const roomOf = (file: string): string => file.split('/')[1] as string
  const inSrc = sources.filter((file) => file.startsWith('src/'))
  expect([...new Set(inSrc.map(roomOf))].filter((room) => !rooms.includes(room))).toEqual([])
  const upward = imports.filter(
    ([file, path]) =>
      file.startsWith('src/') && path.startsWith('src/') && rooms.indexOf(roomOf(file)) < rooms.indexOf(roomOf(path)),
  )
  expect(upward.map((one) => one.join(' → '))).toEqual([])
})

/** Returns the circles of imports, each as the files along it. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file])
    if (done.has(file)) return
    done.add(file)
    for (const next of graph.get(file) ?? []) visit(next, [...way, file])
  }
  for (const file of graph.keys()) visit(file, [])
  return circles
}

test('no file imports itself through others, types included', () => {
  const few = { a: ['b'], b: ['c'], c: ['b', 'd'], d: [] }
  expect(circlesIn(new Map(Object.entries(few)))).toEqual([['b', 'c', 'b']])
  const byFile = Map.groupBy(imports, ([file]) => file)
  const graph = new Map(sources.map((file) => [file, (byFile.get(file) ?? []).map(([, path]) => path)]))
  expect(circlesIn(graph).map((circle) => circle.join(' → '))).toEqual([])
})

test('a feature imports only features listed above it', async () => {
  const contents = await read('src/features/index.ts')
  const order = [...contents.matchAll(/from '\.\/([\w-]+)\/index\.ts'/g)].map((m) => m[1] as string)
  const featureOf = (path: string): string | undefined => /^src\/features\/([\w-]+)\//.exec(path)?.[1]
  const found = new Set<string>()
  for (const [file, path] of imports) {
    const [feature, target] = [featureOf(file), featureOf(path)]
    if (feature && target && order.indexOf(feature) < order.indexOf(target))
      found.add(`${feature} → ${target}: in src/features/index.ts, ${feature} must come after ${target}`)
  }
  expect([...found]).toEqual([])
})

test('the dashboard imports only types from the server, and its components import no API', async () => {
  expect(
    findImports(
      /^src\/web\//,
      /^src\/(?!web\/|records\/|(clients|paths)\.ts$|events\/staff-lines\.ts$|text\/markdown-limits\.ts$)/,
      values,
    ),
  ).toEqual([])
  expect(
    await findLines(
      scan('src/web/components/**/*.{ts,tsx}'),
      /from '(\.\.\/)+(api|account\/session|query-client|routes|lib\/data)/,
    ),
  ).toEqual([])
})

test('each framework is imported in one place', () => {
  expect(
    findImports(/^(?!src\/(http|server)\/|src\/web\/api\.ts$|src\/feature\.ts$|.*\/routes\.ts$)/, /^elysia/),
  ).toEqual([])
  expect(findImports(/^(?!src\/mcp\/)/, /^@modelcontextprotocol\//)).toEqual([])
  expect(findImports(/^(?!src\/db\/embedded\/|cli\/dev\/)/, /^@electric-sql\//)).toEqual([])
})

test('one file of src reads the environment, and no SQL is built from text', async () => {
  const readers = new Set((await findLines(sources, /process\.env|Bun\.env/)).map((at) => at.replace(/:\d+$/, '')))
  expect([...readers].filter((file) => !file.startsWith('cli/dev/'))).toEqual([
    'cli/index.ts',
    'cli/terminal/environment.ts',
    'cli/terminal/report.ts',
    'src/config.ts',
  ])
  expect(await findLines(sources, /\bsql\s*\.\s*raw\b/)).toEqual([])
})

/** Files in which `type` is not the type of an event. */
const otherTypes = {
  'src/events/catalogue.ts': 'isByHand, isBeginning and partsOf are the only readers of the text',
  'src/records/page.ts': 'the type of a column',
  'src/tunnel/actions/action-runner.ts': 'the type of an action on a machine, shortened',
}
/** SQL that compares the text of a type. */
const typesInSql = {
  'src/events/table.ts': 'the condition of an index, which cannot know the catalogue; events.test.ts compares both',
  'src/records/feed.ts': 'the caller filters by the beginning of a type',
  'src/features/admin/audit.ts': 'the caller filters by the beginning of a type',
}

test('events are emitted by their definition, and no code matches the text of a type', async () => {
  expect(await findLines(sources, /\bemit\(\s*['"`]/)).toEqual([])
  const method = 'startsWith|endsWith|includes|split|slice|match|matchAll|indexOf|replace|search'
  expect(
    await hitsOutside(otherTypes, new RegExp(`\\btype[!?]?\\.(${method})\\(`), /\.(test|exec)\((\w+\.)*type\)/),
  ).toEqual([])
  expect(
    await hitsOutside(
      typesInSql,
      /(\$\{(\w+\.)*type\}|events\.type,?) *(!?~|(not )?i?like|'\.')/i,
      /(split_part|starts_with)\([^)]*\btype\b/i,
    ),
  ).toEqual([])
})

test('the name of an event type appears only in its definition and where the compiler compares it', async () => {
  const names = new Set(events.map(({ name }) => name))
  // A definition, an example in a schema or a comment.
  const allowed = /\bdefineEvent\('|\bexample: '|^\s*(\/?\*|\/\/)/
  const bare = sources
    .filter((file) => file !== 'src/web/live/event-types.ts')
    .map(async (file) =>
      (await read(file)).split('\n').flatMap((line, i) => {
        const texts = [...line.matchAll(/(['"`])([a-z_]+\.[a-z_]+)\1/g)].map((m) => m[2] as string)
        return texts.some((text) => names.has(text)) && !allowed.test(line) ? [`${file}:${i + 1}`] : []
      }),
    )
  expect((await Promise.all(bare)).flat()).toEqual([])
  expect(await findLines(['src/web/live/event-types.ts'], /^export const (?!\w+: typeof \w+\.\w+\.name = ')/)).toEqual(
    [],
  )
})

/** Messages of other programs that have no error code. */
const textsOfOthers = {
  'src/db/postgres/sessions.ts': 'PgBouncer names the refused parameter in its text; its code stands for many errors',
}

test('no code matches the text of a message, and next steps of an error are data', async () => {
  const method = 'includes|startsWith|endsWith|match|matchAll|replace|replaceAll|search|split|indexOf'
  const matching = [
    new RegExp(`\\b(message|detail)\\)*[!?]?\\.(${method})\\(`),
    /\.(test|exec)\(([^()]|\([^()]*\))*\b(message|detail|reason)\b/,
    /\.(message|detail) *[!=]==? *['"`]/,
  ]
  expect(await hitsOutside(textsOfOthers, ...matching)).toEqual([])
  const scripts = scan('src/pages/scripts/*.js')
  expect((await Promise.all(matching.map((pattern) => findLines(scripts, pattern)))).flat()).toEqual([])
  // A code is compared as a whole, or by its family (`familyOf`).
  expect(
    await findLines(sources, /\.(test|exec)\((\w+\.)*code\)|\b(error|problem)\.code\.(startsWith|split|match)\(/),
  ).toEqual([])
  // A route in the text of a message would have to be stripped by the surfaces that have none.
  const routeInText = /^(?!\s*(\/?\*|\/\/))(?!.*\b(route|description): ).*(GET|POST|PATCH|PUT|DELETE) \/api/
  expect(await findLines(sources, routeInText)).toEqual([])
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
  expect(await findLines(files, /(=|=>|return) (read|write|flow)\([a-z`]/)).toEqual([])
})

test('a browser can import the schemas', () => {
  const theirs = /^src\/(schema|errors|text\/(secrets|accepted))\.ts$/
  expect(findImports(theirs, /compiler|^(node|bun):|^src\/(?!(errors|text\/(secrets|accepted))\.ts$)/)).toEqual([])
})

test('every hook has a unique name and at least one handler, and every handler has a hook', async () => {
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

/** Where a type is forced, and why. Names may only be deleted. */
const forcedTypes = {
  'seeds/demo/script.ts': 'the input belongs to the action beside it, which the type of all actions cannot say',
  'src/action.ts': '`via` is added to the data of any event, whose definitions do not name it',
  'src/db/session.ts': 'drizzle leaves a function of its own out of its types',
  'src/features/transfer/import.ts': 'drizzle has no type for a row of a table that is known only at run time',
  'src/http/context.ts': 'Elysia does not know what hooks add; a redirect or a stream fits any documented answer',
  'src/mcp/calls.ts': 'the input was checked by the schema of its tool, which the type of all tools cannot say',
  'src/records/rows.ts': 'drizzle has no type for a change of any table with versions',
}

test('types are forced only in the listed files', async () => {
  expect(await hitsOutside(forcedTypes, /\bas unknown as\b|\bas never\b|\) as SQL\b/)).toEqual([])
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

test('no folder has more than 25 files', () => {
  const folders = Map.groupBy([...scan('src/**/*'), ...scan('cli/**/*')], (file) => dirname(file))
  expect([...folders].filter(([, files]) => files.length > 25).map(([folder]) => folder)).toEqual([])
})

/** Participles that are nouns or adjectives for a value, or part of the language of a format. */
const participles = /^(seed|feed|need|speed|embed|shed|bed|red|id|used)$/

test('an exported function has a verb and an object in its name', async () => {
  const found = sources.map(async (file) =>
    [...(await read(file)).matchAll(/^export (?:async )?(?:function|const) (\w+)(?:<[^>]*>)?(?:\(| = (?:async )?\()/gm)]
      .map(([, name = '']) => name)
      .filter((name) => /^([a-z]+ed|find|about|change|select|shown|told|kept|made|goOn)$/.test(name))
      .filter((name) => !participles.test(name))
      .map((name) => `${file}: ${name}`),
  )
  expect((await Promise.all(found)).flat()).toEqual([])
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
const special = 'the kinds that differ from what the list of kinds says'
const levels = 'the levels of a plan'
const fields = 'fields of one object, which are named like kinds'
const listsOfKinds: Record<string, string> = {
  'cli/copy/texts.ts': special,
  'src/features/memory/tools.ts': fields,
  'src/features/planning/service.ts': levels,
  'src/features/sessions/parts.ts': fields,
  'src/features/sessions/tools.ts': fields,
  'src/features/tasks/schema.ts': fields,
  'src/features/tasks/views.ts': fields,
  'src/features/transfer/entities.ts': asked,
  'src/mcp/former-names.ts': fields,
  'src/web/live/stale-queries.ts': special,
  'src/web/routes/agent/words.ts': scopes,
  'src/web/routes/memories/words.ts': scopes,
  'src/web/routes/memory/words.ts': scopes,
  'src/web/routes/plan/model.ts': levels,
  'src/web/routes/plan/words.ts': levels,
  'src/web/routes/task/parents.tsx': levels,
  'src/web/routes/task/words.ts': fields,
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

test('lists of record kinds come from records/names.ts', async () => {
  expect(listsKinds("const a = ['note', 'x', 'task', 'spec']")).toBe(true)
  expect(listsKinds("type A = 'note' | 'task' | 'spec'")).toBe(true)
  expect(listsKinds('const a = { note: 1, task: 2, spec: 3 }')).toBe(true)
  expect(listsKinds('const a = {\n  note: {\n    b: 1,\n  },\n  task: {},\n  spec: {},\n}')).toBe(true)
  expect(listsKinds("const a = ['note', 'task']\nconst b = ['spec']")).toBe(false)
  const files = sources.filter((file) => file !== 'src/records/names.ts')
  const texts = await Promise.all(files.map(async (file) => [file, await read(file)] as const))
  const found = texts.filter(([, text]) => listsKinds(text)).map(([file]) => file)
  expect(found.sort()).toEqual(Object.keys(listsOfKinds))
})

test('no test is skipped or focused', async () => {
  expect(await findLines(scan('test/**/*.ts'), /\b(test|it|describe)\.(only|skip|todo)\(/)).toEqual([])
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

test('docs/decisions/README.md lists every decision', async () => {
  const index = await read('docs/decisions/README.md')
  const files = scan('docs/decisions/*.md').filter((file) => !file.endsWith('README.md'))
  const decisions = (await Promise.all(files.map(read))).flatMap((text) => text.match(/(?<=^## ).+/gm) ?? [])
  expect(decisions.length).toBeGreaterThan(40)
  expect(decisions.filter((title) => !index.includes(`- [${title}](`))).toEqual([])
})

test('the files listed for --nightly in test/README.md exist', async () => {
  const [, section = ''] = (await Bun.file('test/README.md').text()).split('## Only with')
  const rows = section.split('\n## ')[0]?.match(/^\|.*\|$/gm) ?? []
  const named = rows.flatMap((row) => row.match(/(?<=`)[a-z]+\/[a-z-]*(?=`)/g) ?? [])
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !existsSync(`test/${name}${name.endsWith('/') ? '' : '.test.ts'}`))).toEqual([])
})

test('the tests listed for the security requirements exist', async () => {
  const required = `Z1 Z2 Z3 Z4 Z5 Z6 Z8 Z9 Z10 I1 I4 I5 I6 S1 S2 S3 S4 S5 S6 S11 A1 A3 A4 E1 E3 E5 E7 O1 O2 D1 D2 D3 P1
    M2 M3 M4 M7 M8 M9 W1 W3 F1 F2 F4 F5 H4 H8 N1 N3 N4 N7 N9 R1 R2 R3 R4 R6 R8 R9 R10 R15 X3 X4`.split(/\s+/)
  const [, section = ''] = (await read('test/README.md')).split('## Security requirements')
  const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (\w+) \| .*? \| `([\w/-]+)` › (.+) \|$/gm)]
  expect([...new Set(rows.map(([, id]) => id))]).toEqual(required)
  const missing: string[] = []
  for (const [, id, name, title = ''] of rows) {
    const file = `test/${name}.test.ts`
    const source = existsSync(join(root, file)) ? await read(file) : ''
    if (!["'", '"', '`'].some((quote) => source.includes(quote + title + quote)))
      missing.push(`${id}: ${name} › ${title}`)
  }
  expect(missing).toEqual([])
})
