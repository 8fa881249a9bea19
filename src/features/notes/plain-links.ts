import type { Ctx } from '../../action.ts'
import { AppError, invalid } from '../../errors.ts'
import type { RecordKind } from '../../records/kind.ts'
import { mayRead } from '../../records/readable.ts'
import type { NoteLink, NoteLinkInput } from './schema.ts'

const taskKey = /^[a-z]{2,6}-\d+$/i
/** `task:TUT-42` or `tutti://task/TUT-42`. */
const qualified = /^(?:tutti:\/\/([a-z]+)\/|([a-z]+):)(.+)$/

/** Returns links as they are stored. A text is a URL, or the key, slug or id of a record that the caller sees. */
export async function resolveLinks(ctx: Ctx, links: readonly NoteLinkInput[]): Promise<NoteLink[]> {
  const out: NoteLink[] = []
  for (const [i, link] of links.entries())
    out.push(typeof link === 'string' ? await resolveLink(ctx, link.trim(), i) : link)
  return out
}

async function resolveLink(ctx: Ctx, text: string, i: number): Promise<NoteLink> {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return { url: text }
  const [, address, prefix, rest] = qualified.exec(text) ?? []
  const kind = address ?? prefix
  const ref = rest ?? text
  for (const record of ctx.app.records.all) {
    if (kind !== undefined ? record.kind !== kind : taskKey.test(ref) && record.kind !== 'task') continue
    const id = mayRead(ctx, record.kind) && (await idOf(ctx, record, ref))
    if (id) return { type: record.kind, id }
  }
  throw invalid(
    `/links/${i}`,
    `links.${i} is neither an http(s) URL nor the key, slug or id of a record that you can see.`,
  )
}

async function idOf(ctx: Ctx, { resource }: RecordKind<Ctx>, ref: string): Promise<string | undefined> {
  try {
    return ((await resource?.read(ctx, ref)) as { id: string } | undefined)?.id
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}
