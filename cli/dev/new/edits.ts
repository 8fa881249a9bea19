/** One place in a file that lists the kinds, or what they offer. */
export interface Edit {
  readonly file: string
  /** The beginning of the line that opens the list. Default: the first line of the file. */
  readonly list?: string
  /** The beginning of the line behind the new text; empty: the next empty line. */
  readonly end: string
  readonly text: string
}

/** The lines that a new kind needs in existing files, for the kind of the templates. Biome sorts imports later. */
export const edits: readonly Edit[] = [
  {
    file: 'src/records/names.ts',
    list: 'export const kinds = {',
    end: '} as const',
    text: "  bookmark: { path: '/bookmarks', noun: 'bookmarks', searchable: true, restorable: true },\n",
  },
  {
    file: 'src/features/index.ts',
    list: '// ---- knowledge',
    end: '',
    text: "export { bookmarks } from './bookmarks/index.ts'\n",
  },
  { file: 'src/auth/policy.ts', list: 'const projectResources', end: '])', text: "  'bookmarks',\n" },
  {
    file: 'src/mcp/toolsets.ts',
    list: 'const categories = {',
    end: '}',
    text: "  bookmarks: 'create_bookmark list_bookmarks',\n",
  },
  {
    file: 'src/features/transfer/entities.ts',
    list: 'import ',
    end: 'import ',
    text: "import { Bookmark } from '../bookmarks/schema.ts'\n",
  },
  {
    file: 'src/features/transfer/entities.ts',
    list: 'export const entities = {',
    end: '  session: ',
    text: '  bookmark: { schema: Bookmark },\n',
  },
  {
    file: 'src/paths.ts',
    list: 'export const paths = [',
    end: '] as const',
    text: "  '/bookmarks',\n  '/bookmarks/:id',\n",
  },
  {
    file: 'src/web/api.ts',
    list: 'import ',
    end: 'import ',
    text: "import type { bookmarkRoutes } from '../features/bookmarks/routes.ts'\n",
  },
  {
    file: 'src/web/api.ts',
    list: 'export const accounts',
    end: 'export const ',
    text: 'export const bookmarks = client<ReturnType<typeof bookmarkRoutes>>().api\n',
  },
  {
    file: 'src/web/router/knowledge.ts',
    list: 'import ',
    end: 'import ',
    text: "import { bookmarkSearch } from '../routes/bookmarks/search.ts'\n",
  },
  {
    file: 'src/web/router/knowledge.ts',
    list: 'export const knowledge',
    end: '] as const',
    text: `  pageWith('/bookmarks', bookmarkSearch, () => import('../routes/bookmarks/page.tsx'), 'BookmarksPage'),
  page('/bookmarks/$id', () => import('../routes/bookmarks/record.tsx'), 'BookmarkPage'),
`,
  },
  {
    file: 'src/web/frame/destinations.ts',
    list: 'import {',
    end: '  FolderKanban',
    text: '  FileText,\n',
  },
  {
    file: 'src/web/frame/destinations.ts',
    list: 'const all: ',
    end: "  { to: '/agents'",
    text: "  { to: '/bookmarks', label: kindTitle('bookmark'), icon: FileText, group: 'knowledge' },\n",
  },
  {
    file: 'cli/nouns/index.ts',
    list: 'export const nouns',
    end: '  sessions: ',
    text: "  bookmarks: { about: 'Manage bookmarks', load: () => import('./bookmarks.ts') },\n",
  },
  {
    file: 'src/features/manual/service.ts',
    list: 'import ',
    end: 'import ',
    text: "import bookmarks from './pages/knowledge/bookmarks.md' with { type: 'text' }\n",
  },
  {
    file: 'src/features/manual/service.ts',
    list: 'const pages = [',
    end: "  page('Knowledge', 'memory'",
    text: "  page('Knowledge', 'bookmarks', bookmarks, 'What bookmarks are, and how to use them'),\n",
  },
  {
    file: 'src/features/manual/pages/run/sync.md',
    list: '| Entity |',
    end: '| comment ',
    text: '| bookmark | title, description (text); new: projectId |\n',
  },
  {
    file: 'seeds/demo/index.ts',
    list: 'import ',
    end: 'import ',
    text: "import { bookmarkSteps } from './bookmarks.ts'\n",
  },
  { file: 'seeds/demo/index.ts', list: 'const script = [', end: '  ...memorySteps', text: '  ...bookmarkSteps,\n' },
  {
    file: 'test/support/records.ts',
    list: 'const rows: ',
    end: '}',
    text: "  bookmark: ({ title, text }, id) => ['/bookmarks', { title, description: text, projectId: id('project') }],\n",
  },
  {
    file: 'test/features/transfer-complete.test.ts',
    list: 'const travels: ',
    end: '}',
    text: '  bookmarks: { where: ofTeam },\n',
  },
  {
    file: 'test/mcp/budget.test.ts',
    list: 'const table: ',
    end: ']',
    text: "  ['bookmarks', 'create_bookmark list_bookmarks'],\n",
  },
  {
    file: 'test/mcp/answers.test.ts',
    end: "  const spec = await answer('create_spec'",
    text: `  await answer('create_bookmark', { project: 'LAN', title: 'A bookmark', description: 'Some text.' })
  await answer('list_bookmarks', { project: 'LAN' })
`,
  },
  {
    file: 'test/mcp/cursors.test.ts',
    end: "      await use(client, 'create_agent'",
    text: `      await use(client, 'create_bookmark', { project: slug, title: \`Bookmark \${n}\` })\n`,
  },
  {
    file: 'test/mcp/quoting.test.ts',
    end: "    await call('delete_agent'",
    text: `    await call('create_bookmark', { project: made.project, title: 'A bookmark' })
    await call('list_bookmarks', { project: made.project })
`,
  },
  {
    file: 'test/binary/matrix.test.ts',
    end: "  ['memory add",
    text: `  ['bookmarks create "A bookmark" --description "some text"', /^Bookmark +A bookmark\\n/],
  ['bookmarks list --search text', /A bookmark +just now\\n$/],
  ['bookmarks update {bookmarks} --title "Another bookmark"', /^Bookmark +Another bookmark\\n/],
  ['bookmarks show {bookmarks}', /^Bookmark +Another bookmark\\n/],
  ['bookmarks delete {bookmarks}', /^Deleted /],
  ['bookmarks restore {deleted}', /^Bookmark +Another bookmark\\n/],

`,
  },
]
