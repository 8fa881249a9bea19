import type { JobName } from './work.ts'

export interface Cost {
  calls: number
  tokens: number
}

/** What all jobs may cost together. */
export const bars: Cost = { calls: 42, tokens: 6000 }

/** What each job may cost: measured, with a little room, because ids differ from run to run. Lower it when it sinks. */
export const ceilings: Record<JobName, Cost> = {
  'plan a feature of 12 tasks with 8 dependencies': { calls: 1, tokens: 270 },
  'next, start, finish, next, five times': { calls: 11, tokens: 775 },
  'what is blocked and why': { calls: 1, tokens: 186 },
  'find one of 120 tasks by words': { calls: 1, tokens: 100 },
  'remember five facts and find one by paraphrase': { calls: 6, tokens: 335 },
  'resume after total loss of context': { calls: 2, tokens: 535 },
  'record a decision with alternatives and look it up': { calls: 2, tokens: 215 },
  'two agents take six tasks': { calls: 12, tokens: 780 },
  'hand over half-done work': { calls: 3, tokens: 220 },
  'read a task with all that is needed': { calls: 1, tokens: 185 },
  'report today’s work': { calls: 1, tokens: 160 },
  'split a task in three and finish them': { calls: 7, tokens: 365 },
  'recover from a wrong id and a wrong status': { calls: 4, tokens: 207 },
}

export const sum = (costs: Iterable<Cost>): Cost => {
  const all = { calls: 0, tokens: 0 }
  for (const { calls, tokens } of costs) {
    all.calls += calls
    all.tokens += tokens
  }
  return all
}
