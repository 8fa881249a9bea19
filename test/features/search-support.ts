import { eq, inArray } from 'drizzle-orm'
import type { Note, NoteCreate } from '../../src/features/notes/schema.ts'
import type { Project, ProjectCreate } from '../../src/features/projects/schema.ts'
import { catchUp, compareAllRecords } from '../../src/features/search/indexing/indexing.ts'
import type { FoundGroups, Part } from '../../src/features/search/schema.ts'
import { jobs } from '../../src/jobs/table.ts'
import type { SearchName } from '../../src/records/names.ts'
import { type Person, systemCtx, type TestApp, unique } from '../support/app.ts'

/** Indexes everything written so far now, instead of a moment later. */
export async function indexed(t: TestApp): Promise<void> {
  while ((await catchUp(systemCtx(t), {})) !== 'done');
  const asked = await t.app.db.select({ data: jobs.data }).from(jobs).where(eq(jobs.name, 'search.compare'))
  for (const { data } of asked) await compareAllRecords(systemCtx(t), data as { projectId?: string })
  // Nobody runs the jobs that this started.
  await t.app.db.delete(jobs).where(inArray(jobs.name, ['search.compare', 'search.embed']))
}

/** A word that nobody else in the test database uses. Letters only, and nothing that could be taken for a word's ending. */
export const newWord = (): string =>
  `${unique('zq')
    .replace(/\d/g, (digit) => 'abcdfghjkl'[Number(digit)] as string)
    .replace(/[^a-z]/g, '')}x`

export const write = async (who: Person, input: Partial<NoteCreate> = {}): Promise<Note> => {
  const made = await who.fetch<Note>('POST', '/api/notes', { title: unique('note'), scope: 'team', ...input })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return made.body
}

export const newProject = async (who: Person, input: Partial<ProjectCreate> = {}): Promise<Project> => {
  const made = await who.fetch<Project>('POST', '/api/projects', { name: unique('project'), ...input })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return made.body
}

export const search = async (who: Pick<Person, 'fetch'>, q: string, more = ''): Promise<FoundGroups> => {
  const { status, body } = await who.fetch<FoundGroups>('GET', `/api/search?q=${encodeURIComponent(q)}${more}`)
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

/** Titles in the order they came in. */
export const titles = ({ items }: FoundGroups, kind?: SearchName): string[] =>
  items.filter((group) => !kind || group.kind === kind).flatMap((group) => group.items.map((item) => item.title))

export const plain = (parts: readonly Part[]): string => parts.map((part) => part.text).join('')
export const matches = (parts: readonly Part[]): string[] => parts.filter((part) => part.match).map((part) => part.text)
