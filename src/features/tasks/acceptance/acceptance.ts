import type { Ctx } from '../../../action.ts'
import { isInPerson } from '../../../auth/actor.ts'
import type { Refusal } from '../../../auth/policy.ts'
import { invalid } from '../../../errors.ts'
import { quoteText } from '../../../text/quoting.ts'
import type { FoundTask } from '../rows.ts'
import type { Acceptance, Accepted } from '../schema.ts'

/** Acceptance criteria: conditions that a done task must meet. */

const isSameText = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase()

/** Turns plain texts into criteria. A text that was a criterion before keeps its tick. */
export const toCriteria = (given: readonly (string | Acceptance)[], before: readonly Acceptance[] = []): Acceptance[] =>
  given.map((c) => (typeof c === 'string' ? { text: c, done: before.some((b) => b.done && isSameText(b.text, c)) } : c))

/** Returns the criteria of a reopened task: all of them have to be accepted again. */
export const clearTicks = (list: readonly Acceptance[]): Acceptance[] => list.map((one) => ({ ...one, done: false }))

/** Ticks the criteria that the caller accepts: all, or some by their numbers or texts. */
export function tickAccepted(list: readonly Acceptance[], accepted: Accepted | undefined): Acceptance[] {
  if (accepted === undefined) return [...list]
  // Clients that only support lists send ['all'].
  const isAll = accepted === 'all' || accepted.includes('all')
  const met = new Set(isAll ? list.keys() : accepted.map((one) => indexOf(list, one)))
  return list.map((criterion, i) => (met.has(i) ? { ...criterion, done: true } : criterion))
}

function indexOf(list: readonly Acceptance[], one: number | string): number {
  const byText = typeof one === 'string' ? list.findIndex(({ text }) => isSameText(text, one)) : -1
  const index = byText < 0 ? Number(one) - 1 : byText
  if (list[index]) return index
  const known = list.length === 0 ? 'The task has none.' : `The task has: ${numberedCriteria(list, () => true)}.`
  throw invalid('/accepted', `There is no acceptance criterion ${JSON.stringify(one)}. ${known}`)
}

/** Tokens of a criterion in a sentence. */
const LONGEST = 50

/** Returns criteria in a sentence, with the numbers that `accepted` takes. */
const numberedCriteria = (list: readonly Acceptance[], which: (criterion: Acceptance) => boolean): string =>
  list.flatMap((criterion, i) => (which(criterion) ? `${i + 1}. ${quoteText(criterion.text, LONGEST)}` : [])).join('; ')

/** Returns texts of criteria in a sentence. */
export const inQuotes = (texts: readonly string[]): string => texts.map((text) => quoteText(text, LONGEST)).join(', ')

const isOpen = ({ done }: Acceptance): boolean => !done

export const openCriteria = (list: readonly Acceptance[]): string[] => list.filter(isOpen).map(({ text }) => text)

/**
 * Returns why a task cannot become done with these criteria. By the project's setting, open criteria stop everyone,
 * only agents, or no one. A caller at a browser counts as a person, any other as an agent. Open criteria that the
 * change removes stop an agent too: it could otherwise delete them instead of meeting them.
 */
export function acceptanceRefusal(
  { actor }: Ctx,
  { task: { key, acceptance: before }, project }: FoundTask,
  list: readonly Acceptance[],
): Refusal | undefined {
  const person = isInPerson(actor)
  if (project.acceptance === 'warn' || (project.acceptance === 'agents' && person)) return undefined
  const isRemoved = (one: Acceptance): boolean => isOpen(one) && !list.some(({ text }) => isSameText(text, one.text))
  const removed = person ? [] : before.filter(isRemoved)
  const open = openCriteria([...list, ...removed])
  if (open.length === 0) return undefined
  const isAre = (count: number) => (count === 1 ? '1 acceptance criterion is' : `${count} acceptance criteria are`)
  const why =
    removed.length > 0
      ? `${isAre(removed.length)} open and cannot be removed now: ${numberedCriteria(before, isRemoved)}. ` +
        'Leave acceptance out and send'
      : `${isAre(open.length)} open: ${numberedCriteria(list, isOpen)}. Send`
  return {
    code: 'conflict.acceptance_open',
    detail: `${key} cannot become done: ${why} accepted with the numbers or texts that are met, or "all".`,
    details: { open, next: [{ tool: 'complete_task', command: `tutti tasks done ${key} --accept <number...>` }] },
  }
}
