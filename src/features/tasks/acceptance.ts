import type { Ctx } from '../../action.ts'
import { inPerson } from '../../auth/actor.ts'
import type { Refusal } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import type { Found } from './rows.ts'
import type { Acceptance, Accepted } from './schema.ts'

/** Acceptance criteria: what must be true when a task is done. */

const same = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase()

/** Turns plain texts into criteria. A text that was a criterion before keeps its tick. */
export const criteria = (given: readonly (string | Acceptance)[], before: readonly Acceptance[] = []): Acceptance[] =>
  given.map((c) => (typeof c === 'string' ? { text: c, done: before.some((b) => b.done && same(b.text, c)) } : c))

/** Returns the criteria with those ticked that the caller accepts: all, or some by their numbers or texts. */
export function ticked(list: readonly Acceptance[], accepted: Accepted | undefined): Acceptance[] {
  if (accepted === undefined) return [...list]
  // Clients that know only lists send ['all'].
  const isAll = accepted === 'all' || accepted.includes('all')
  const met = new Set(isAll ? list.keys() : accepted.map((one) => indexOf(list, one)))
  return list.map((criterion, i) => (met.has(i) ? { ...criterion, done: true } : criterion))
}

function indexOf(list: readonly Acceptance[], one: number | string): number {
  const byText = typeof one === 'string' ? list.findIndex(({ text }) => same(text, one)) : -1
  const index = byText < 0 ? Number(one) - 1 : byText
  if (list[index]) return index
  const known = list.length === 0 ? 'The task has none.' : `The task has: ${numbered(list, () => true)}.`
  throw invalid('/accepted', `No acceptance criterion is ${JSON.stringify(one)}. ${known}`)
}

const LONGEST = 200

/** Returns criteria in a sentence, with the numbers that `accepted` takes. */
const numbered = (list: readonly Acceptance[], which: (criterion: Acceptance) => boolean): string =>
  list
    .flatMap((criterion, i) => (which(criterion) ? `${i + 1}. ${criterion.text.trim().slice(0, LONGEST)}` : []))
    .join('; ')

const isOpen = ({ done }: Acceptance): boolean => !done

export const openCriteria = (list: readonly Acceptance[]): string[] => list.filter(isOpen).map(({ text }) => text)

/**
 * Returns why a task with these criteria may not become done. The project's setting decides: open criteria stop
 * everybody, only agents, or nobody. People work at a browser; everything else may be an agent.
 */
export function acceptanceRefusal(
  { actor }: Ctx,
  { task: { key }, project }: Found,
  list: readonly Acceptance[],
): Refusal | undefined {
  const open = openCriteria(list)
  if (open.length === 0 || project.acceptance === 'warn') return undefined
  if (project.acceptance === 'agents' && inPerson(actor)) return undefined
  const many = open.length === 1 ? '1 acceptance criterion is' : `${open.length} acceptance criteria are`
  return {
    code: 'conflict.acceptance_open',
    detail:
      `${key} cannot become done: ${many} open: ${numbered(list, isOpen)}. ` +
      'Send accepted with those that are met: "all", or a list of their numbers or texts.',
    details: { open, next: [{ tool: 'complete_task', command: `tutti tasks done ${key} --accept <number...>` }] },
  }
}
