import type { Ctx } from '../action.ts'
import type { Actor } from '../auth/actor.ts'
import { userName } from './hooks.ts'

/**
 * Names the author of the text in a result. It is placed before the text, so that a model knows whose text follows:
 * `own` was written by the calling agent or user, everything else is `other`, and neither is an instruction.
 */
export interface Attribution {
  kind: string
  author?: string
  trust: 'own' | 'other'
}

type Fields = Record<string, unknown>
interface Author {
  id: string | null
  name?: string
}

const KEEP_MS = 300_000
const MOST_NAMES = 2_000

/** Caches people's names for five minutes: they rarely change, and every record that is read needs one. */
export class Names {
  readonly #known = new Map<string, { name: string; until: number }>()

  known(id: string): string | undefined {
    const found = this.#known.get(id)
    return found && found.until > Date.now() ? found.name : undefined
  }

  async find(ctx: Ctx, id: string): Promise<string> {
    const [found] = await userName.call(ctx, { userId: id })
    const name = found ?? 'somebody who has left'
    this.#known.delete(id)
    this.#known.set(id, { name, until: Date.now() + KEEP_MS })
    if (this.#known.size > MOST_NAMES) this.#known.delete(this.#known.keys().next().value as string)
    return name
  }
}

/** Returns the author of a record: the agent or person it names, else the user who created it. */
function authorOf(record: Fields): Author | undefined {
  const { author, createdById } = record
  if (typeof author === 'object' && author !== null) return author as Author
  return typeof createdById === 'string' ? { id: createdById } : undefined
}

const isOwn = ({ id }: Author, { agent, userId }: Actor): boolean => id !== null && (id === agent?.id || id === userId)

/** Tools whose results contain many records of many people, although the tools also write. */
const packed = new Set(['create_session', 'resume_session', 'get_context'])

/** Returns undefined for what the caller has just written, and for results that contain no stored text. */
export async function sourceOf(
  ctx: Ctx,
  tool: { name: string; action: { kind: string } },
  answer: unknown,
  names: Names,
): Promise<Attribution | undefined> {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return undefined
  const { actor } = ctx
  const kind = tool.name.slice(tool.name.indexOf('_') + 1)
  const { items, task } = answer as { items?: unknown; task?: unknown }
  if (Array.isArray(items)) {
    const hasOthers = items.some((item: Fields) => {
      const author = authorOf(item)
      return !author || !isOwn(author, actor)
    })
    return items.length > 0 ? { kind, trust: hasOthers ? 'other' : 'own' } : undefined
  }
  const record = (typeof task === 'object' && task !== null ? task : answer) as Fields
  const author = authorOf(record)
  const reads = tool.action.kind === 'read'
  // An unknown author counts as another.
  if (!author || packed.has(tool.name))
    return packed.has(tool.name) || (reads && 'id' in record) ? { kind, trust: 'other' } : undefined
  const own = isOwn(author, actor)
  if (own && !reads) return undefined
  return { kind, author: await nameOf(ctx, author, names), trust: own ? 'own' : 'other' }
}

async function nameOf(ctx: Ctx, { id, name }: Author, names: Names): Promise<string> {
  if (name !== undefined) return name
  if (id === null) return 'somebody who has left'
  if (id === ctx.actor.userId) return ctx.actor.name
  return names.known(id) ?? names.find(ctx, id)
}
