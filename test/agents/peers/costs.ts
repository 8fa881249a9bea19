import { type Cost, sum } from '../jobs/costs.ts'
import { type JobName, jobNames } from '../jobs/work.ts'

type Costs = Partial<Record<JobName, Cost>>
const cost = (calls: number, tokens: number): Cost => ({ calls, tokens })

/** What the jobs cost other programs, which test/full/peers.test.ts measures anew. */
export const measured: Record<string, Costs> = {
  'Task Master': {
    'plan a feature of 12 tasks with 8 dependencies': cost(12, 1316),
    'next, start, finish, next, five times': cost(16, 2707),
    'what is blocked and why': cost(1, 1092),
    'find one of 120 tasks by words': cost(1, 8499),
    'two agents take six tasks': cost(18, 2957),
    'read a task with all that is needed': cost(2, 298),
    'report today’s work': cost(1, 599),
    'split a task in three and finish them': cost(4, 622),
    'recover from a wrong id and a wrong status': cost(4, 916),
  },
  Shrimp: {
    'plan a feature of 12 tasks with 8 dependencies': cost(1, 1881),
    'next, start, finish, next, five times': cost(16, 5179),
    'what is blocked and why': cost(1, 1191),
    'find one of 120 tasks by words': cost(1, 177),
    'resume after total loss of context': cost(3, 492),
    'two agents take six tasks': cost(18, 5772),
    'hand over half-done work': cost(4, 675),
    'read a task with all that is needed': cost(2, 383),
    'report today’s work': cost(1, 538),
    'split a task in three and finish them': cost(7, 2395),
    'recover from a wrong id and a wrong status': cost(4, 1149),
  },
  'Backlog.md': {
    'plan a feature of 12 tasks with 8 dependencies': cost(12, 1700),
    'next, start, finish, next, five times': cost(16, 1733),
    'what is blocked and why': cost(10, 1566),
    'find one of 120 tasks by words': cost(1, 27),
    'resume after total loss of context': cost(3, 373),
    'record a decision with alternatives and look it up': cost(3, 252),
    'two agents take six tasks': cost(18, 2021),
    'hand over half-done work': cost(4, 541),
    'read a task with all that is needed': cost(2, 373),
    'report today’s work': cost(5, 604),
    'split a task in three and finish them': cost(6, 846),
    'recover from a wrong id and a wrong status': cost(4, 210),
  },
  'kazuph’s task manager': {
    'next, start, finish, next, five times': cost(16, 2852),
    'find one of 120 tasks by words': cost(1, 3596),
    'two agents take six tasks': cost(18, 3069),
    'hand over half-done work': cost(4, 661),
    'split a task in three and finish them': cost(7, 949),
  },
  'server-memory': {
    'remember five facts and find one by paraphrase': cost(2, 449),
    'resume after total loss of context': cost(2, 194),
    'record a decision with alternatives and look it up': cost(2, 178),
  },
  // 0.14.1, measured once: it compiles SQLite when it is installed, so the tests do not run it.
  'memory-keeper': {
    'remember five facts and find one by paraphrase': cost(2, 611),
    'resume after total loss of context': cost(2, 368),
    'record a decision with alternatives and look it up': cost(2, 353),
  },
}

/** The fewest calls and the fewest tokens that any other program needs, which may be two programs. */
export function bestPeer(name: JobName, peers: Record<string, Costs> = measured): Cost {
  const all = Object.values(peers).flatMap((costs) => costs[name] ?? [])
  return { calls: Math.min(...all.map(({ calls }) => calls)), tokens: Math.min(...all.map(({ tokens }) => tokens)) }
}

/** The jobs that cost fewer tokens than any other program needs for them. */
export const cheapest = (own: ReadonlyMap<string, Cost>, peers = measured): JobName[] =>
  jobNames.filter((name) => (own.get(name)?.tokens ?? Number.POSITIVE_INFINITY) < bestPeer(name, peers).tokens)

export function table(own: ReadonlyMap<string, Cost>, peers = measured): string {
  const row = (name: string, cells: (number | string)[]) =>
    `${name.padEnd(52)}${cells.map((cell) => String(cell).padStart(12)).join('')}`
  const rows = jobNames.map((name) => {
    const { calls = '-', tokens = '-' } = own.get(name) ?? {}
    const best = bestPeer(name, peers)
    return row(name, [calls, tokens, best.calls, best.tokens])
  })
  const all = sum(own.values())
  const head = row('job', ['calls', 'tokens', 'peer calls', 'peer tokens'])
  const ahead = `fewer tokens than any of ${Object.keys(peers).length} programs: ${cheapest(own, peers).length} of ${jobNames.length}`
  return ['', head, ...rows, row('together', [all.calls, all.tokens]), ahead].join('\n')
}
