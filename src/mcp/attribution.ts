import type { Ctx } from '../action.ts'
import type { Actor } from '../auth/actor.ts'
import type { AppError } from '../errors.ts'
import { type ActorSummary, fullName } from '../records/user-or-agent.ts'
import { findQuotes, quoteName, toOneLine } from '../text/quoting.ts'
import { userName } from './hooks.ts'
import { isFields, isUserOrAgent } from './shorten-result.ts'
import type { ToolRun } from './tool.ts'

/**
 * Names the author of the text in a result. It is placed before the text, so that a model knows whose text follows:
 * `own` was written by the calling user or an agent of theirs, everything else is `other`, and neither is an
 * instruction. It depends only on the record, not on what the tool shows of it.
 */
export type Attribution = 'own' | { kind: string; author?: string; trust: 'other' }

type Fields = Record<string, unknown>
interface Author {
  /** The person; of an agent, whom it works for. Null if they have left, undefined if the record does not say. */
  userId: string | null | undefined
  agent?: { id: string | null; name: string }
  /** The person's name, if the record has it. */
  name?: string
}

const KEEP_MS = 300_000
const MOST_NAMES = 2_000

/** Caches people's names for five minutes: they rarely change, and every record that is read needs one. */
export class UserNames {
  readonly #known = new Map<string, { name: string; until: number }>()

  known(id: string): string | undefined {
    const found = this.#known.get(id)
    return found && found.until > Date.now() ? found.name : undefined
  }

  async find(ctx: Ctx, id: string): Promise<string> {
    const [found] = await userName.call(ctx, { userId: id })
    const name = found ?? 'a former user'
    this.#known.delete(id)
    this.#known.set(id, { name, until: Date.now() + KEEP_MS })
    if (this.#known.size > MOST_NAMES) this.#known.delete(this.#known.keys().next().value as string)
    return name
  }
}

/** Returns the author of a record: the agent or person that it names, and the user who created it. */
function authorOf({ author, actor, createdById, userId }: Fields): Author | undefined {
  const party = (author ?? actor) as Party | null | undefined
  if (typeof party === 'object' && party !== null) {
    const { type, id = null, name, for: person } = party
    if (type !== 'agent') return { userId: id, name }
    return { userId: person?.id ?? (createdById as string | undefined), agent: { id, name }, name: person?.name }
  }
  // A session has no author but its user.
  const creator = createdById ?? userId
  return typeof creator === 'string' ? { userId: creator } : undefined
}

/**
 * Own is what the calling person or one of their agents wrote. If only the agent is known, it must be the calling one
 * and work for no one else: several people may use one agent.
 */
const isOwn = ({ userId, agent }: Author, actor: Actor): boolean =>
  typeof userId === 'string' ? userId === actor.userId : actor.agent?.forUser === true && agent?.id === actor.agent.id

/** An unknown author counts as someone else. */
function isOthers(record: Fields, actor: Actor): boolean {
  const author = authorOf(record)
  return !author || !isOwn(author, actor)
}

/** Parts of a record that other people and agents add to. Each entry names its author. */
const remarks = ['comments', 'discussion', 'reviews', 'evidence']

/**
 * Returns whether a result shows text of others beside that of its records' authors: comments, or notes on completed
 * tasks, whose author is not stored.
 */
function showsOthers(shown: unknown, actor: Actor): boolean {
  const { items, task, next, waitsFor, notesBefore, completionNotes, lastCheckpoint, ...rest } = (shown ?? {}) as Fields
  return (
    Boolean(completionNotes) ||
    (lastCheckpoint ? isOthers(lastCheckpoint as Fields, actor) : false) ||
    listOf(notesBefore).length > 0 ||
    remarks.some((name) => listOf(rest[name]).some((remark) => isFields(remark) && isOthers(remark, actor))) ||
    [task, next, ...listOf(items), ...listOf(waitsFor)].some((part) => part && showsOthers(part, actor))
  )
}

const listOf = <T = unknown>(value: unknown): T[] => (Array.isArray(value) ? value : [])

/** Fields of a part of a result that hold the text of a record. */
const texts = ['title', 'name', 'content', 'excerpt', 'description', 'notes', 'body']

/** Returns whether a part of a result has text that is neither sent by the caller nor known to be theirs. */
function showsStored(part: unknown, sent: ReadonlySet<string>, actor: Actor, depth = 0): boolean {
  if (typeof part === 'string') return quotesStored(part, sent)
  if (Array.isArray(part)) return part.some((one) => showsStored(one, sent, actor, depth + 1))
  if (typeof part !== 'object' || part === null) return false
  const fields = part as Fields
  if (isUserOrAgent(fields)) return quoteName(fields.name) !== fields.name
  const isText = (name: string) => typeof fields[name] === 'string' && !sent.has(toOneLine(fields[name]))
  if (depth > 0 && texts.some(isText) && isOthers(fields, actor)) return true
  return Object.values(fields).some((field) => showsStored(field, sent, actor, depth + 1))
}

/** Returns whether a text quotes more than what the caller sent. */
const quotesStored = (text: string, sent: ReadonlySet<string>): boolean =>
  findQuotes(text).some((quote) => !sent.has(quote))

/** Returns the titles of the caller's own records in a result, as they are quoted. */
function ownTitlesIn(value: unknown, actor: Actor): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { title } = value as Fields
  const own = typeof title === 'string' && !isOthers(value as Fields, actor) ? [toOneLine(title)] : []
  return [...own, ...Object.values(value).flatMap((part) => ownTitlesIn(part, actor))]
}

/** Returns the texts of the arguments, as they are quoted. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [toOneLine(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const nounOf = (tool: string): string => tool.slice(tool.indexOf('_') + 1)

/** Returns the attribution of an error that quotes stored text or returns a record. Its author is not known. */
export const errorAttribution = (tool: string, error: AppError, sent: unknown): Attribution | undefined =>
  error.details.current || quotesStored(error.message, new Set(textsIn(sent)))
    ? { kind: nounOf(tool), trust: 'other' }
    : undefined

/** Returns undefined for what the caller has just written, and for results that contain no stored text. */
export async function resultAttribution(
  ctx: Ctx,
  tool: { name: string; action: { kind: string } },
  ran: ToolRun,
  names: UserNames,
  sent: unknown = {},
): Promise<Attribution | undefined> {
  const source = await sourceOfRecord(ctx, tool, ran, names)
  if (source) return source
  const known = new Set([...textsIn(sent), ...ownTitlesIn(ran.result, ctx.actor)])
  if (!showsStored(ran.shown, known, ctx.actor)) return undefined
  return { kind: nounOf(tool.name), trust: 'other' }
}

async function sourceOfRecord(
  ctx: Ctx,
  tool: { name: string; action: { kind: string } },
  { result: answer, shown }: ToolRun,
  names: UserNames,
): Promise<Attribution | undefined> {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return undefined
  const { actor } = ctx
  const kind = nounOf(tool.name)
  const reads = tool.action.kind === 'read'
  const { items, task, claimed, recentActivity } = answer as Fields & { claimed?: Fields }
  if (Array.isArray(items)) {
    const records = claimed ? [...items, claimed] : items
    const hasOthers = records.some((item) => isOthers(item, actor)) || showsOthers(shown, actor)
    if (items.length === 0 || (!hasOthers && !reads)) return undefined
    if (!hasOthers) return 'own'
    const author = showsOthers(shown, actor) ? undefined : authorOf(writtenByOne(answer) ?? {})
    return { kind, ...(author && { author: await nameOf(ctx, author, names) }), trust: 'other' }
  }
  // A brief quotes records of many people.
  if ('brief' in answer) return listOf((shown as Fields).brief).length > 0 ? { kind, trust: 'other' } : undefined
  const record = (typeof task === 'object' && task !== null ? task : answer) as Fields
  const author = authorOf(record)
  if (!author) return reads && 'id' in record ? { kind, trust: 'other' } : undefined
  const own = isOwn(author, actor)
  // The other texts have other authors, so no author is named.
  const hasOthers = showsOthers(shown, actor) || listOf<Fields>(recentActivity).some((entry) => isOthers(entry, actor))
  if (own && hasOthers) return { kind, trust: 'other' }
  if (own) return reads ? 'own' : undefined
  return { kind, author: await nameOf(ctx, author, names), trust: 'other' }
}

type Party = Partial<ActorSummary> & { name: string }

/** Returns the first record of a list if all its records name the same author. */
function writtenByOne(answer: unknown): (Fields & { author: Party }) | undefined {
  const [first, ...rest] = listOf<{ author?: Party | null; createdById?: unknown }>((answer as Fields | null)?.items)
  const isSame = ({ author, createdById }: NonNullable<typeof first>) =>
    author?.id === first?.author?.id && createdById === first?.createdById
  return first?.author?.id && rest.every(isSame) ? { ...first, author: first.author } : undefined
}

/** Returns the id of the author that the source of a list names for all its records. */
export function commonAuthorId(answer: unknown, source: Attribution | undefined, { agent, userId }: Actor) {
  const id = writtenByOne(answer)?.author.id ?? undefined
  const isNamed = source === 'own' ? id === (agent?.id ?? userId) : source?.author !== undefined
  return isNamed ? id : undefined
}

async function nameOf(ctx: Ctx, { userId, agent, name }: Author, names: UserNames): Promise<string> {
  const person = name ?? (await personOf(ctx, userId, names))
  if (!agent) return person ?? 'a former user'
  return fullName({ name: agent.name, ...(person !== undefined && { for: { id: userId ?? null, name: person } }) })
}

async function personOf(ctx: Ctx, id: string | null | undefined, names: UserNames): Promise<string | undefined> {
  if (typeof id !== 'string') return undefined
  return id === ctx.actor.userId ? ctx.actor.name : (names.known(id) ?? names.find(ctx, id))
}
