import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { events } from '../../../src/all-features.ts'
import { entities } from '../../../src/features/transfer/entities.ts'
import { paths } from '../../../src/paths.ts'
import { nouns } from '../../nouns/index.ts'
import { type Edit, edits } from './edits.ts'
import { nameProblem, renamer } from './names.ts'

export const root = join(import.meta.dir, '../../..')
const templates = join(import.meta.dir, 'templates')

/** Inserts the text of an edit, unless the file has it. Throws if the file no longer has the list. */
function insert(file: string, { list = '', end, text }: Omit<Edit, 'file'>): string {
  if (file.includes(text)) return file
  const lines = file.split('\n')
  const first = lines.findIndex((line) => line.startsWith(list))
  const last = lines.findIndex((line, at) => at > first && (end === '' ? line === '' : line.startsWith(end)))
  if (first < 0 || last < 0)
    throw new Error(`no line begins with ${JSON.stringify(first < 0 ? list : end)}. Correct cli/dev/new/edits.ts.`)
  return lines.toSpliced(last, 0, text.replace(/\n$/, '')).join('\n')
}

/** Returns the files of a new kind by path: new ones, and existing ones as they will be. */
export async function filesOfKind(kind: string): Promise<Map<string, string>> {
  const rename = renamer(kind)
  const files = new Map<string, string>()
  for (const file of new Bun.Glob('**/*.txt').scanSync(templates))
    files.set(rename(file.replace(/\.txt$/, '')), rename(await Bun.file(join(templates, file)).text()))
  for (const { file, list, end, text } of edits) {
    const before = files.get(file) ?? (await Bun.file(join(root, file)).text())
    try {
      files.set(file, insert(before, { list, end, text: rename(text) }))
    } catch (error) {
      throw new Error(`${file}: ${(error as Error).message}`)
    }
  }
  return files
}

/** Returns why a new kind cannot have this name, or undefined. */
export async function problemWithName(kind: string): Promise<string | undefined> {
  const code = [...new Bun.Glob('**/*.{ts,tsx}.txt').scanSync(templates)].map((file) =>
    Bun.file(join(templates, file)).text(),
  )
  const { tables } = (await Bun.file(join(root, 'migrations/meta/snapshot.json')).json()) as {
    tables: Record<string, { name: string }>
  }
  return nameProblem(kind, {
    nouns: Object.keys(nouns),
    features: readdirSync(join(root, 'src/features')),
    tables: Object.values(tables).map(({ name }) => name),
    paths,
    subjects: [...Object.keys(entities), ...events.flatMap(({ kind }) => kind ?? [])],
    code: (await Promise.all(code)).join('\n'),
  })
}
