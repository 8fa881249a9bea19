import { eq } from 'drizzle-orm'
import { type Ctx, withVia, write } from '../../action.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import * as notes from '../notes/service.ts'
import { createPlan } from '../planning/service.ts'
import { createMany } from '../tasks/many/creation.ts'
import { chatDecided } from './events.ts'
import { chatEvent, chatWriteRule, findChat, findMessage } from './rows.ts'
import type { AiSession, Draft, Made, NoteDraft, Proposal, ProposalAnswer, TasksDraft } from './schema.ts'
import { aiMessages } from './table.ts'

interface Decision extends ProposalAnswer {
  id: string
  messageId: string
  number: number
}

/**
 * Accepts a proposal of the assistant, as it is or edited, or declines it. The records are created by the person who
 * accepts, with their rights. Their events say that they came from the assistant.
 */
export const decideProposal = write(
  'assistant.decide',
  chatWriteRule,
  async (ctx, { id, messageId, number, accept, edit, projectId }: Decision): Promise<Proposal> => {
    // Locks the chat, so that no second call decides at the same time.
    const session = await findChat(ctx, id)
    const message = await findMessage(ctx, id, messageId)
    const proposal = message.proposals.find((one) => one.number === number)
    if (!proposal) throw notFound('proposal', String(number))
    if (proposal.state !== 'open') throw new AppError('conflict', `This proposal was already ${proposal.state}.`)
    if (edit && kindOf(edit) !== proposal.kind)
      throw invalid('/edit', `edit must have the same fields as the draft, which is ${nouns[proposal.kind]}.`)
    const draft = edit ?? proposal.draft
    const place = { ...session, projectId: projectId ?? session.projectId }
    const decided: Proposal = accept
      ? { ...proposal, draft, state: 'accepted', made: await createFromDraft(withVia(ctx, 'assistant'), place, draft) }
      : { ...proposal, state: 'declined' }
    await ctx.db
      .update(aiMessages)
      .set({ proposals: message.proposals.map((one) => (one.number === number ? decided : one)) })
      .where(eq(aiMessages.id, messageId))
    ctx.emit(chatDecided, chatEvent(ctx, id))
    return decided
  },
)

const nouns = { tasks: 'a list of tasks', plan: 'a plan', note: 'a note' }
const kindOf = (draft: Draft): Proposal['kind'] => ('tasks' in draft ? 'tasks' : 'epics' in draft ? 'plan' : 'note')

type Place = Pick<AiSession, 'projectId'>

async function createFromDraft(ctx: Ctx, { projectId }: Place, draft: Draft): Promise<Made[]> {
  if ('tasks' in draft) return makeTasks(ctx, requireProjectId(projectId), draft)
  if ('epics' in draft) {
    const { epics, project } = await createPlan(ctx, { ref: requireProjectId(projectId), epics: draft.epics })
    return epics.map(({ id, title }) => ({ kind: 'epic', id, title, path: `/api/projects/${project.id}/epics/${id}` }))
  }
  return makeNote(ctx, projectId, draft)
}

async function makeTasks(ctx: Ctx, projectRef: string, { tasks }: TasksDraft): Promise<Made[]> {
  const { items } = await createMany(ctx, { projectRef, tasks })
  return items.map(({ id, key, title }) => ({ kind: 'task', id, title, path: `/api/tasks/${key}` }))
}

async function makeNote(ctx: Ctx, projectId: string | null, draft: NoteDraft): Promise<Made[]> {
  const { id, title } = await notes.create(ctx, { ...draft, ...(projectId && { projectId }) })
  return [{ kind: 'note', id, title, path: `/api/notes/${id}` }]
}

function requireProjectId(projectId: string | null): string {
  if (projectId) return projectId
  throw invalid('/projectId', 'projectId is required: the project in which the tasks are created.', 'required')
}
