import type { FoundGroups, Part, UnderstoodFilter } from '../../src/features/search/schema.ts'
import { type SearchName, searchNames } from '../../src/records/names.ts'
import { parseSearchQuery } from '../../src/records/query-filters.ts'
import { withHints } from '../api/hints.ts'
import { linkedProject } from '../api/project-link.ts'
import { findProjectId, withQuery } from '../api/reference.ts'
import { type WhereOrOffline, workingClient } from '../copy/client.ts'
import { bold, dim, printNote, printResult, safeLine } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends WhereOrOffline {
  json?: boolean
  kind?: string[]
  project?: string
  allProjects?: boolean
  limit?: string
}

const highlightParts = (parts: readonly Part[]): string =>
  parts.map(({ text, match }) => (match ? bold(safePart(text)) : safePart(text))).join('')
/** Like `safeLine`, but keeps the spaces at both ends, which separate the parts. */
const safePart = (text: string): string => safeLine(`.${text}.`).slice(1, -1)

const describeFilter = ({ key, values, not }: UnderstoodFilter): string =>
  safeLine(`${key === 'is' ? 'task' : key} ${not ? 'is not' : 'is'} ${values.join(' or ')}`)

export async function runSearch(
  words: string[],
  { json, kind, project, allProjects, limit, ...where }: Options,
): Promise<void> {
  const unknown = kind?.find((one) => !searchNames.includes(one as SearchName))
  if (unknown !== undefined) throw new Refusal(`Unknown kind ${unknown}. Kinds: ${searchNames.join(', ')}`)
  const client = workingClient(where)
  const q = words.join(' ')
  const names = parseSearchQuery(q).filters.some(({ key }) => key === 'project')
  const within = project ?? (allProjects || names ? undefined : linkedProject(client.server)?.project)
  const found = await withHints(client, async () =>
    client.get<FoundGroups>(
      withQuery('/api/search', {
        q,
        kinds: kind?.join(','),
        limit,
        projectId: within && (await findProjectId(client, within)),
      }),
    ),
  )
  printResult(
    json,
    found,
    ...found.items.flatMap(({ kind: what, total, items }) => [
      bold(`${what} (${total})`),
      ...items.flatMap((hit) => [
        `  ${dim(safeLine(hit.key ?? hit.id.slice(0, 13)))}  ${highlightParts(hit.highlight.title) || what}`,
        ...(hit.highlight.text.length > 0 ? [`    ${highlightParts(hit.highlight.text)}`] : []),
      ]),
      '',
    ]),
  )
  if (found.filters && !json) printNote(`Filters: ${found.filters.map(describeFilter).join('; ')}`)
  if (found.items.length === 0 && !json) printNote('Nothing found.')
  if (found.indexing && !json) printNote('Recent changes may be missing: the search index is catching up.')
  if (found.corrected && !json)
    printNote(`Nothing found for your words. Showing results for: ${safeLine(found.corrected)}`)
}
