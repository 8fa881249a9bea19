import type { JobName } from './work.ts'

export interface Cost {
  calls: number
  tokens: number
}

/**
 * What all jobs may cost together, and how many of them cost fewer tokens than with any other program. They take about
 * 3,490 tokens; the rest is room for ids.
 */
export const bars = { calls: 33, tokens: 3540, cheapest: 11 }

/** What each job may cost: measured, with room for ids and names, whose tokens differ. Lower it when it sinks. */
export const ceilings: Record<JobName, Cost> = {
  'plan a feature of 12 tasks with 8 dependencies': { calls: 1, tokens: 300 },
  'next, start, finish, next, five times': { calls: 6, tokens: 660 },
  'what is blocked and why': { calls: 1, tokens: 200 },
  'find one of 120 tasks by words': { calls: 1, tokens: 105 },
  'remember five facts and find one by paraphrase': { calls: 2, tokens: 320 },
  'resume after total loss of context': { calls: 2, tokens: 400 },
  'record a decision with alternatives and look it up': { calls: 2, tokens: 176 },
  'two agents take six tasks': { calls: 8, tokens: 850 },
  'hand over half-done work': { calls: 3, tokens: 265 },
  'read a task with all that is needed': { calls: 1, tokens: 195 },
  'report today’s work': { calls: 1, tokens: 190 },
  'split a task in three and finish them': { calls: 2, tokens: 165 },
  'recover from a wrong id and a wrong status': { calls: 3, tokens: 155 },
}

export const sum = (costs: Iterable<Cost>): Cost => {
  const all = { calls: 0, tokens: 0 }
  for (const { calls, tokens } of costs) {
    all.calls += calls
    all.tokens += tokens
  }
  return all
}
