import type { FoundGroups, Part } from '../../src/features/search/schema.ts'
import { type SearchName, searchNames } from '../../src/records/names.ts'
import { helped } from '../api/hints.ts'
import { linkedProject } from '../api/linked.ts'
import { projectId, query } from '../api/reference.ts'
import { type WhereOrOffline, workingClient } from '../copy/client.ts'
import { bold, dim, note, plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options extends WhereOrOffline {
  json?: boolean
  kind?: string[]
  project?: string
  allProjects?: boolean
  limit?: string
}

const marked = (parts: readonly Part[]): string =>
  parts.map(({ text, match }) => (match ? bold(flat(text)) : flat(text))).join('')
/** Like `plain`, but keeps the spaces at both ends, which separate the parts. */
const flat = (text: string): string => plain(`.${text}.`).slice(1, -1)

export async function search(
  words: string[],
  { json, kind, project, allProjects, limit, ...where }: Options,
): Promise<void> {
  const unknown = kind?.find((one) => !searchNames.includes(one as SearchName))
  if (unknown !== undefined) throw new Refusal(`Unknown kind ${unknown}. Kinds: ${searchNames.join(', ')}`)
  const client = workingClient(where)
  const within = project ?? (allProjects ? undefined : linkedProject(client.server)?.project)
  const found = await helped(client, async () =>
    client.get<FoundGroups>(
      query('/api/search', {
        q: words.join(' '),
        kinds: kind?.join(','),
        limit,
        projectId: within && (await projectId(client, within)),
      }),
    ),
  )
  print(
    json,
    found,
    ...found.items.flatMap(({ kind: what, total, items }) => [
      bold(`${what} (${total})`),
      ...items.flatMap((hit) => [
        `  ${dim(plain(hit.key ?? hit.id.slice(0, 13)))}  ${marked(hit.highlight.title) || what}`,
        ...(hit.highlight.text.length > 0 ? [`    ${marked(hit.highlight.text)}`] : []),
      ]),
      '',
    ]),
  )
  if (found.items.length === 0 && !json) note('Nothing found.')
  if (found.indexing && !json) note('Recent changes may be missing: the search index is catching up.')
  if (found.corrected && !json) note(`Nothing found for your words. Showing results for: ${plain(found.corrected)}`)
}
