import type { TSchema } from '@sinclair/typebox'
import { check } from '../../check.ts'
import { AppError } from '../../errors.ts'
import type { ToolCall, ToolOffer } from '../../outside/chat.ts'
import { kindInfo, type SearchName, searchNames } from '../../records/names.ts'
import { array, object, oneOf, optional, text, title } from '../../schema.ts'
import { visibleText } from '../../text/text.ts'
import { PlanDraft } from '../planning/schema.ts'
import type { OpenFiles } from './files.ts'
import { describeSource } from './prompt.ts'
import type { Asker } from './rows.ts'
import { type AnswerListener, type Draft, NoteDraft, type Proposal, TasksDraft } from './schema.ts'
import { type Material, recordsFor, type Sources } from './sources.ts'

/** The tools of the model. None writes, fetches an address or reads more than the asker can read. */
const schemas = {
  search: object({
    query: title(500, { description: 'What to look for, in words' }),
    kinds: optional(array(oneOf(searchNames), searchNames.length, { description: 'Only these kinds of records' })),
  }),
  read_record: object({
    kind: oneOf(searchNames, { description: 'Kind of the record' }),
    id: title(200, { description: 'Id, key or slug, as a source or a result names it' }),
  }),
  read_file: object({
    path: title(300, { description: 'Path of a file in the repository' }),
    from: optional(text(10, { description: 'First line; default: 1', pattern: '^\\d+$' })),
  }),
  propose_tasks: TasksDraft,
  propose_plan: PlanDraft,
  propose_note: NoteDraft,
} as const
type Name = keyof typeof schemas

const descriptions: Record<Name, string> = {
  search: 'Search the records that the person may read. Returns passages with their numbers.',
  read_record: 'Read one record in full.',
  read_file: 'Read up to 200 lines of a file of the repository.',
  propose_tasks: 'Propose tasks to the person, who decides whether they are created.',
  propose_plan: 'Propose a plan of epics, stories and tasks to the person, who decides whether it is created.',
  propose_note: 'Propose a note to the person, who decides whether it is created.',
}

const offerOf = (name: Name): ToolOffer => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: JSON.parse(JSON.stringify(schemas[name])) as object },
})
const names = Object.keys(schemas) as Name[]
const offers = names.map(offerOf)
const withoutFiles = offers.filter((offer) => offer.function.name !== 'read_file')

export const toolsFor = (hasFiles: boolean): ToolOffer[] => (hasFiles ? offers : withoutFiles)

interface ToolContext {
  asker: Asker
  sources: Sources
  files?: OpenFiles
  proposals: Proposal[]
  emit: AnswerListener
}

const FOUND = 5
/** Characters of a record or a file that the model gets. */
const TEXT = 6000
const MOST_PROPOSALS = 5

/** Runs one call. Errors are returned to the model as a result. */
export async function runTool(bench: ToolContext, { function: { name, arguments: given } }: ToolCall): Promise<object> {
  try {
    const asked = argumentsOf(name, given)
    switch (name) {
      case 'search':
        return await search(bench, asked as { query: string; kinds?: SearchName[] })
      case 'read_record':
        return await readRecord(bench, asked as { kind: SearchName; id: string })
      case 'read_file':
        return await readFile(bench, asked as { path: string; from?: string })
      case 'propose_tasks':
        return propose(bench, 'tasks', asked as Draft)
      case 'propose_plan':
        return propose(bench, 'plan', asked as Draft)
      default:
        return propose(bench, 'note', asked as Draft)
    }
  } catch (error) {
    if (error instanceof AppError) return { error: error.message }
    throw error
  }
}

function argumentsOf(name: string, given: string): unknown {
  if (!Object.hasOwn(schemas, name))
    throw new AppError('invalid', `There is no tool ${JSON.stringify(name.slice(0, 50))}.`)
  let value: unknown
  try {
    value = JSON.parse(given)
  } catch {
    throw new AppError('invalid', 'The arguments are not JSON.')
  }
  const errors = check(schemas[name as Name] as TSchema, value)
  if (errors.length > 0)
    throw new AppError(
      'invalid',
      errors
        .map(({ message }) => message)
        .join(' ')
        .slice(0, 1000),
    )
  return value
}

async function search(
  { asker, sources }: ToolContext,
  asked: { query: string; kinds?: SearchName[] },
): Promise<object> {
  const found = await recordsFor(asker.ctx, { ...asked, projectId: asker.project?.id, limit: FOUND })
  return { results: sources.add(found).map((one) => ({ ...describeSource(one), id: one.source.id })) }
}

async function readRecord(
  { asker, sources }: ToolContext,
  { kind, id }: { kind: SearchName; id: string },
): Promise<object> {
  const { ctx } = asker
  const record = ctx.app.records.get(kind)
  const { path } = kindInfo(kind)
  if (!record.resource || !path) throw new AppError('invalid', `Records of the kind ${kind} cannot be read one by one.`)
  const found = (await record.resource.read(ctx, id)) as Record<string, unknown>
  const materials: Material = {
    source: {
      kind,
      id: String(found.id),
      title: String(found.title ?? found.name ?? found.key ?? kind).slice(0, 1000),
      path: `/api${path}/${String(found.key ?? found.id)}`,
      organizationId: typeof found.organizationId === 'string' ? found.organizationId : null,
      commit: null,
      lines: null,
      url: null,
    },
    text: JSON.stringify(found).slice(0, TEXT),
    author: null,
    isOwn: found.createdById === ctx.actor.userId,
    updatedAt: typeof found.updatedAt === 'string' ? found.updatedAt : null,
  }
  return describeSource(sources.add([materials])[0] as Material & { number: number })
}

async function readFile(
  { files, sources }: ToolContext,
  { path, from }: { path: string; from?: string },
): Promise<object> {
  if (!files) throw new AppError('invalid', 'This chat has no repository.')
  const material = await files.lines(path, Math.max(1, Number(from ?? 1)))
  return describeSource(
    sources.add([{ ...material, text: material.text.slice(0, TEXT) }])[0] as Material & { number: number },
  )
}

function propose({ proposals, sources, emit }: ToolContext, kind: Proposal['kind'], draft: Draft): object {
  if (proposals.length >= MOST_PROPOSALS)
    throw new AppError('invalid', 'The limit of proposals is reached. Answer now.')
  const proposal: Proposal = {
    number: proposals.length + 1,
    kind,
    state: 'open',
    draft: JSON.parse(visibleText(JSON.stringify(draft))) as Draft,
    sources: sources.all.map(({ number }) => number),
    made: [],
  }
  proposals.push(proposal)
  emit({ type: 'proposal', proposal })
  return { proposed: proposal.number, note: 'The person sees the proposal and decides. Nothing is created yet.' }
}
